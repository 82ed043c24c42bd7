"""Excel files as tables: the first sheet of a workbook, by openpyxl (`pip install 'svmkit[excel]'`)."""

from __future__ import annotations

import io
import warnings
import zipfile
from pathlib import Path
from typing import Any

from svmkit.data.formats.csvtext import require_different
from svmkit.data.formats.files import open_data
from svmkit.data.tables.table import Table
from svmkit.errors import InputError, SvmkitWarning, one_line

# the contents of a cell whose formula failed
_ERRORS = ("", "#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")
_FREE, _FOLD = 64 << 20, 200  # bytes; ratio allowed beyond them, as for other compressed files


def excel_table(path: Path) -> Table:
    """Return the first sheet of a workbook; formulas have the values stored by Excel.

    Raises InputError: openpyxl is not installed, the file is not a workbook, it has no cells, or its header is merged.
    """
    book = _open(path)
    sheet = book.worksheets[0]
    if len(book.worksheets) > 1:
        others = len(book.worksheets) - 1
        more = f"{others} other{'s are' if others > 1 else ' is'} not: save another one as CSV"
        warnings.warn(f"{path}: sheet {sheet.title!r} is read, {more}", SvmkitWarning, stacklevel=6)
    merged = [str(cells) for cells in sheet.merged_cells.ranges if cells.min_row <= sheet.min_row]
    if merged:
        raise InputError(
            f"{path}: the header of sheet {sheet.title!r} has merged cells ({merged[0]}): unmerge them, and give each "
            "column a name of its own in one row"
        )
    rows = [[None if cell in _ERRORS else cell for cell in row] for row in sheet.values]
    rows = [row for row in rows if any(cell is not None for cell in row)]
    used = [at for at in range(len(rows[0]) if rows else 0) if any(row[at] is not None for row in rows)]
    if not used:
        raise InputError(f"{path}: sheet {sheet.title!r} has no cells: it needs a header and one row a sample")
    return _table_of(path, [[row[at] for at in used] for row in rows])


def _open(path: Path) -> Any:
    """Return a workbook."""
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            f"{path}: Excel files need openpyxl: pip install 'svmkit[excel]', or save the sheet as CSV"
        ) from None
    with open_data(path) as stream:
        content = io.BytesIO(stream.read())
    try:
        with zipfile.ZipFile(content) as packed:
            size = sum(part.file_size for part in packed.infolist())
        if size > max(_FREE, _FOLD * len(content.getbuffer())):
            raise InputError(f"{path}: would unpack to {size:,} bytes: save the sheet as CSV")
        return openpyxl.load_workbook(content, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, OSError, SyntaxError) as err:
        if isinstance(err, InputError):
            raise
        raise InputError(f"{path}: is no Excel workbook ({one_line(err)}): save it again as .xlsx, or as CSV") from err


def _table_of(path: Path, rows: list[list[Any]]) -> Table:
    """Return the rows of a sheet as a table; the first is a header if it contains only text and holes."""
    import pandas as pd

    first = rows[0]
    has_header = all(isinstance(cell, str | None) for cell in first) and any(first)
    names = tuple(
        cell.strip() if has_header and isinstance(cell, str) else f"column{at + 1}" for at, cell in enumerate(first)
    )
    require_different(names, str(path))
    frame = pd.DataFrame(rows[1:] if has_header else rows, columns=range(len(names)))
    return Table(path, frame, names, has_header, None)

//! A column of a Parquet file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, FileReader, Length};
use parquet::file::serialized_reader::SerializedFileReader;
use whyidle_model::NoteCode;

use super::Chunk;
use super::columns::{self, Column, Gathered};
use super::field::Field;
use crate::error::ReadError;

/// Rows that are decoded at once.
const ROWS: usize = 64;

/// A file whose ranges are within it: a length that the file claims for itself is not believed.
struct Ranges {
    file: File,
    length: u64,
}

impl Length for Ranges {
    fn len(&self) -> u64 {
        self.length
    }
}

impl Ranges {
    fn at(&self, start: u64) -> Result<File> {
        if start > self.length {
            return Err(ParquetError::EOF("a range beyond the file".to_owned()));
        }
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(file)
    }
}

impl ChunkReader for Ranges {
    type T = io::BufReader<File>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(io::BufReader::new(self.at(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes> {
        let mut bytes = Vec::new();
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF("a range beyond the file".to_owned()));
        }
        self.at(start)?.take(length as u64).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// Pages of which the library would think that they cannot come.
struct Checked {
    pages: Box<dyn PageReader>,
    has_dictionary: bool,
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        let wrong = |what: &str| Err(ParquetError::General(what.to_owned()));
        match &page {
            Some(Page::DictionaryPage { .. }) if self.has_dictionary => return wrong("two dictionaries"),
            Some(Page::DictionaryPage { .. }) => self.has_dictionary = true,
            Some(page) => match page.encoding() {
                Encoding::PLAIN | Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY => {}
                Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY if self.has_dictionary => {}
                _ => return wrong("an encoding that texts do not have, or a dictionary that is missing"),
            },
            None => {}
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

impl Iterator for Checked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    columns::guarded(work).unwrap_or_else(|| Err(ParquetError::General("it makes no sense".to_owned())))
}

/// A column of texts.
struct Texts {
    file: Arc<SerializedFileReader<Ranges>>,
    column: usize,
    nullable: i16,
    /// The row group after the one that is read.
    group: usize,
    reader: Option<ColumnReaderImpl<ByteArrayType>>,
    row: u64,
    rows: u64,
    length: u64,
    is_over: bool,
}

/// Opens the column `field` of a file.
pub(super) fn open(
    path: &Path,
    file: File,
    field: &Field,
) -> std::result::Result<Box<dyn Column>, ReadError> {
    let damaged =
        |error: ParquetError| ReadError::Columns { path: path.to_owned(), reason: error.to_string() };
    let length = file.metadata().map_err(|error| ReadError::io(path, error))?.len();
    let file = guarded(|| SerializedFileReader::new(Ranges { file, length })).map_err(damaged)?;
    let described = file.metadata().file_metadata();
    let columns = described.schema_descr().columns();
    let is_text = |column: usize| {
        columns[column].physical_type() == Type::BYTE_ARRAY && columns[column].max_rep_level() == 0
    };
    let column = columns.iter().position(|column| column.path().parts() == field.names());
    let Some(column) = column.filter(|&column| is_text(column)) else {
        let texts = (0..columns.len()).filter(|&column| is_text(column));
        return Err(ReadError::NoColumn {
            path: path.to_owned(),
            column: field.to_string(),
            columns: texts.map(|column| columns[column].path().string()).collect(),
        });
    };
    let nullable = columns[column].max_def_level();
    let rows = u64::try_from(described.num_rows()).unwrap_or(0);
    let file = Arc::new(file);
    Ok(Box::new(Texts {
        file,
        column,
        nullable,
        group: 0,
        reader: None,
        row: 0,
        rows,
        length,
        is_over: false,
    }))
}

impl Texts {
    /// Reads on within this group or the next; the number of rows, 0 at the end.
    fn read(&mut self, gathered: &mut Gathered) -> Result<usize> {
        loop {
            if self.reader.is_none() {
                if self.group >= self.file.num_row_groups() {
                    return Ok(0);
                }
                self.reader = Some(self.open_group()?);
                self.group += 1;
            }
            let Some(reader) = &mut self.reader else { return Ok(0) };
            let (mut values, mut levels): (Vec<ByteArray>, Vec<i16>) = (Vec::new(), Vec::new());
            let (rows, _, _) = reader.read_records(ROWS, Some(&mut levels), None, &mut values)?;
            if rows == 0 {
                self.reader = None;
                continue;
            }
            let mut values = values.iter();
            for row in 0..rows {
                let is_there = self.nullable == 0 || levels.get(row) == Some(&self.nullable);
                gathered.add(if is_there { values.next().map(ByteArray::data) } else { None });
            }
            return Ok(rows);
        }
    }

    fn open_group(&self) -> Result<ColumnReaderImpl<ByteArrayType>> {
        let group = self.file.get_row_group(self.group)?;
        let column = group.metadata().column(self.column).column_descr_ptr();
        let pages = Checked { pages: group.get_column_page_reader(self.column)?, has_dictionary: false };
        Ok(ColumnReaderImpl::new(column, Box::new(pages)))
    }

    fn skip(&mut self, row: u64) -> Result<()> {
        let mut left = row;
        while left > 0 && self.group < self.file.num_row_groups() {
            let rows = u64::try_from(self.file.metadata().row_group(self.group).num_rows()).unwrap_or(0);
            if rows > left {
                let mut reader = self.open_group()?;
                reader.skip_records(usize::try_from(left).unwrap_or(usize::MAX))?;
                self.reader = Some(reader);
                left = 0;
            } else {
                left -= rows;
            }
            self.group += 1;
        }
        Ok(())
    }
}

impl Column for Texts {
    fn next(&mut self, size: usize) -> io::Result<Option<Chunk>> {
        let mut gathered = Gathered::default();
        while !self.is_over && gathered.size() < size {
            match guarded(|| self.read(&mut gathered)) {
                Ok(rows) => {
                    self.row += rows as u64;
                    self.is_over = rows == 0;
                }
                Err(_) => {
                    gathered.notes.add(NoteCode::DamagedColumns, None);
                    self.is_over = true;
                }
            }
        }
        Ok(gathered.chunk(self.row))
    }

    fn skip_to(&mut self, row: u64) -> io::Result<()> {
        self.row = row;
        guarded(|| self.skip(row)).map_err(io::Error::other)
    }

    fn bytes_read(&self) -> u64 {
        let share =
            u128::from(self.length) * u128::from(self.row.min(self.rows)) / u128::from(self.rows.max(1));
        u64::try_from(share).unwrap_or(self.length)
    }
}

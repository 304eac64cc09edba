//! Inflates files and forgets what is in them: the part of reading a trace that nothing can avoid.
//! `bench/` measures against it. Prints the number of bytes of each.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};

use flate2::bufread::MultiGzDecoder;

fn main() -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    for path in std::env::args_os().skip(1) {
        let mut decoder = MultiGzDecoder::new(BufReader::with_capacity(1 << 16, File::open(path)?));
        let mut bytes = 0;
        loop {
            match decoder.read(&mut buffer)? {
                0 => break,
                read => bytes += read,
            }
        }
        writeln!(io::stdout(), "{bytes}")?;
    }
    Ok(())
}

//! The traces of the benchmarks of cache2k: keys of 32 bits, big-endian, and nothing else.

use crate::builder::{Name, TraceBuilder, TraceRequest, Wanted};
use crate::input::TraceInput;
use data::DataError;

const REMEDY: &str = "use the whole file, of 4 bytes per request, or cut it at a multiple of 4";

pub(crate) fn read(input: &mut TraceInput, builder: &mut TraceBuilder) -> Result<(), DataError> {
    let mut record = [0; 4];
    while input.record(&mut record, REMEDY)? {
        let key = Name::Number(u32::from_be_bytes(record).into());
        let wanted = builder.push(TraceRequest::get(key)).map_err(|problem| input.at_record(4, &problem, REMEDY))?;
        if wanted == Wanted::Enough {
            break;
        }
    }
    Ok(())
}

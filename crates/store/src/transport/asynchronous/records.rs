//! Clients of stores that read, replace and delete one record at a time: functions with results, of which operations and replies are made here.

use super::{AsyncClient, BufferedReply, ReplyBuffer};
use crate::{Expected, Operation};

/// The reason why an operation failed, which makes the operation's reply.
pub trait IntoReply {
    /// Returns the reply to an operation that failed for this reason.
    fn reply(self, out: &mut ReplyBuffer) -> BufferedReply;
}

/// One slot's handle on a store of records: a value for a key, and a tag by which the store knows that value again (a revision, an ETag). Every
/// such handle is an [`AsyncClient`].
///
/// ```
/// use kvtrial_store::asynchronous::{AsyncClient, AsyncRecords, BufferedReply, IntoReply, ReplyBuffer, runtime};
/// use kvtrial_store::{Expected, Operation};
/// use std::collections::HashMap;
///
/// #[derive(Default)]
/// struct Records(HashMap<Vec<u8>, Vec<u8>>);
///
/// struct Never;
///
/// impl IntoReply for Never {
///     fn reply(self, out: &mut ReplyBuffer) -> BufferedReply {
///         out.refused("never")
///     }
/// }
///
/// impl AsyncRecords for Records {
///     type Value = Vec<u8>;
///     type Tag = u64;
///     type Trouble = Never;
///
///     async fn get(&mut self, key: &[u8]) -> Result<Option<(Vec<u8>, u64)>, Never> {
///         Ok(self.0.get(key).map(|value| (value.clone(), 0)))
///     }
///     fn version(&mut self, _: &[u8], tag: u64) -> Result<u64, Never> {
///         Ok(tag)
///     }
///     async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Never> {
///         self.0.insert(key.into(), value.into());
///         Ok(())
///     }
///     async fn delete(&mut self, key: &[u8]) -> Result<bool, Never> {
///         Ok(self.0.remove(key).is_some())
///     }
///     async fn swap(&mut self, key: &[u8], expected: Expected<'_>, value: &[u8]) -> Result<bool, Never> {
///         let holds = match expected {
///             Expected::Absent => !self.0.contains_key(key),
///             Expected::Present { value: old, .. } => self.0.get(key).is_some_and(|found| found == old),
///         };
///         if holds {
///             self.put(key, value).await?;
///         }
///         Ok(holds)
///     }
/// }
///
/// let (mut records, mut out) = (Records::default(), ReplyBuffer::default());
/// let mut ask = async |operation| records.execute(&operation, &mut out).await;
/// runtime()?.block_on(async {
///     assert_eq!(ask(Operation::Put { key: b"k", value: b"v" }).await, BufferedReply::Done);
///     assert_eq!(ask(Operation::GetVersioned { key: b"k" }).await, BufferedReply::Versioned(0));
///     let swap = |expected| Operation::CompareAndSet { key: b"k", expected, value: b"w" };
///     assert_eq!(ask(swap(Expected::Absent)).await, BufferedReply::Conflict);
///     assert_eq!(ask(swap(Expected::Present { version: 0, value: b"v" })).await, BufferedReply::Done);
///     assert_eq!(ask(Operation::Delete { key: b"k" }).await, BufferedReply::Done);
///     assert_eq!(ask(Operation::Get { key: b"k" }).await, BufferedReply::Missing);
///     assert_eq!(ask(Operation::Scan { start: b"", limit: 9 }).await, BufferedReply::Refused);
/// });
/// # Ok::<(), kvtrial_store::StoreError>(())
/// ```
#[allow(async_fn_in_trait)] // a session never leaves its thread
pub trait AsyncRecords: 'static {
    /// A value as the driver has read it.
    type Value: AsRef<[u8]>;
    /// The tag of a value that was read, as far as a version needs it.
    type Tag;
    /// The reason why an operation failed.
    type Trouble: IntoReply;

    /// Reads a record.
    ///
    /// # Errors
    /// The record may be there or not.
    async fn get(&mut self, key: &[u8]) -> Result<Option<(Self::Value, Self::Tag)>, Self::Trouble>;

    /// Returns the version that stands for the tag of a value just read: 0 where the store compares values. A handle that needs more than the number
    /// for a later [`swap`](AsyncRecords::swap) keeps the tag.
    ///
    /// # Errors
    /// The store has given no version.
    fn version(&mut self, key: &[u8], tag: Self::Tag) -> Result<u64, Self::Trouble>;

    /// Stores a value, whatever was there.
    ///
    /// # Errors
    /// The value was not stored, or may have been, as the trouble says.
    async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Self::Trouble>;

    /// Deletes a record, and returns whether there was one.
    ///
    /// # Errors
    /// The record was not deleted, or may have been, as the trouble says.
    async fn delete(&mut self, key: &[u8]) -> Result<bool, Self::Trouble>;

    /// Stores a value if the record is as expected, and returns whether it was.
    ///
    /// # Errors
    /// The value was not stored, or may have been, as the trouble says.
    async fn swap(&mut self, key: &[u8], expected: Expected<'_>, value: &[u8]) -> Result<bool, Self::Trouble>;

    /// Carries out an operation of another kind: batches, scans, counters.
    ///
    /// # Errors
    /// The operation did not happen, or may have happened, as the trouble says.
    async fn further(
        &mut self,
        operation: &Operation<'_>,
        out: &mut ReplyBuffer,
    ) -> Result<BufferedReply, Self::Trouble> {
        let _ = operation;
        Ok(out.not_native())
    }

    /// Drops the operation under way: see [`AsyncClient::give_up`].
    fn give_up(&mut self) {}

    /// Bounds replies: see [`AsyncClient::believe`].
    fn believe(&mut self, largest_reply_bytes: u64) {
        let _ = largest_reply_bytes;
    }
}

impl<R: AsyncRecords> AsyncClient for R {
    async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply {
        match carry_out(self, operation, out).await {
            Ok(answer) => answer,
            Err(trouble) => trouble.reply(out),
        }
    }

    fn give_up(&mut self) {
        AsyncRecords::give_up(self);
    }

    fn believe(&mut self, largest_reply_bytes: u64) {
        AsyncRecords::believe(self, largest_reply_bytes);
    }
}

async fn carry_out<R: AsyncRecords>(
    records: &mut R,
    operation: &Operation<'_>,
    out: &mut ReplyBuffer,
) -> Result<BufferedReply, R::Trouble> {
    let done_or = |done: bool, other| if done { BufferedReply::Done } else { other };
    Ok(match *operation {
        Operation::Get { key } => match records.get(key).await? {
            Some((value, _)) => out.value(value.as_ref()),
            None => BufferedReply::Missing,
        },
        Operation::GetVersioned { key } => match records.get(key).await? {
            Some((value, tag)) => out.versioned(value.as_ref(), records.version(key, tag)?),
            None => BufferedReply::Missing,
        },
        Operation::Put { key, value } => records.put(key, value).await.map(|()| BufferedReply::Done)?,
        Operation::Delete { key } => done_or(records.delete(key).await?, BufferedReply::Missing),
        Operation::CompareAndSet { key, expected, value } => {
            done_or(records.swap(key, expected, value).await?, BufferedReply::Conflict)
        }
        _ => records.further(operation, out).await?,
    })
}

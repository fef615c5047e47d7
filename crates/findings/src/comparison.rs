//! What differs between two studies, or between cells of one.

pub mod crashes;
mod sentences;

pub use sentences::{
    difference, figure, judgement, not_compared, obstacle, p, p_cell, percent, ratio, reasons, sentence, sentences,
    word,
};

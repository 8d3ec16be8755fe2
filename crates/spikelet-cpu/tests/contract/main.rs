//! What plans compute on the CPU: every operation against plain loops, every gradient against
//! central differences, and what must not change the result.

mod harness;

mod custom;
mod draw;
mod errors;
mod half;
mod labels;
mod map;
mod matmul;
mod movement;
mod plans;
mod precision;
mod reduce;
mod scan;
mod second_order;
mod threads;
mod time;
mod updates;

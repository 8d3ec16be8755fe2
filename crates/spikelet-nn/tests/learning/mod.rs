//! Learning rules: their traces and changes, in all ways in which they are computed, and the identities of e-prop.

mod class_reward;
mod common;
mod eprop;
mod frequency;
mod online_eprop;
mod recurrent;
mod rules;
mod wrong;

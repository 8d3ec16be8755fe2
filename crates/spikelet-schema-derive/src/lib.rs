//! `#[derive(Schema)]` and `#[derive(Module)]`: see `spikelet_schema::Schema` and `spikelet_nn::module::Module`, which
//! document the attributes.

mod choice;
mod module;
mod options;
mod record;

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Fields, parse_macro_input};

/// Declares a struct with fields, or an enum of words.
#[proc_macro_derive(Schema, attributes(schema))]
pub fn schema(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let made = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => record::derive(&input, fields.named.iter()),
            Fields::Unit => record::derive(&input, [].into_iter()),
            Fields::Unnamed(_) => Err(syn::Error::new_spanned(
                &input.ident,
                "fields of a declaration have names",
            )),
        },
        Data::Enum(data) => choice::derive(&input, data),
        Data::Union(_) => Err(syn::Error::new_spanned(
            &input.ident,
            "a union has no declaration",
        )),
    };
    made.unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Names the children of a module by the fields of its struct.
#[proc_macro_derive(Module, attributes(module))]
pub fn module(input: TokenStream) -> TokenStream {
    let made = module::derive(&parse_macro_input!(input as DeriveInput));
    made.unwrap_or_else(syn::Error::into_compile_error).into()
}

//! Enums without fields: a value is one of several words.

use crate::options::{Options, kebab};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Fields};

pub(crate) fn derive(input: &DeriveInput, data: &DataEnum) -> syn::Result<TokenStream> {
    let schema = Options::of(&input.attrs, &["crate"])?.schema();
    let (mut variants, mut words) = (vec![], vec![]);
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(syn::Error::new_spanned(
                variant,
                "a variant of a declared enum has no fields",
            ));
        }
        let options = Options::of(&variant.attrs, &["name"])?;
        words.push(
            options
                .name
                .map_or_else(|| kebab(&variant.ident.to_string()), |name| name.value()),
        );
        variants.push(&variant.ident);
    }
    let ty = &input.ident;
    Ok(quote! {
        impl #schema::Choice for #ty {
            const ALL: &'static [Self] = &[#(Self::#variants),*];
            const NAMES: &'static [&'static str] = &[#(#words),*];
        }

        impl #schema::FieldValue for #ty {
            fn kind() -> #schema::Kind {
                #schema::Kind::Word(<Self as #schema::Choice>::NAMES)
            }

            fn read(
                &mut self,
                field: &#schema::Field,
                node: &#schema::document::Node,
            ) -> ::std::result::Result<(), #schema::document::Located> {
                let word = node.choice(field.key, <Self as #schema::Choice>::NAMES)?;
                if let Some(value) = <Self as #schema::Choice>::find(word) {
                    *self = value;
                }
                Ok(())
            }

            fn write(&self) -> #schema::derived::serde_json::Value {
                ::std::convert::Into::into(#schema::Choice::name(*self))
            }
        }

        impl ::std::fmt::Display for #ty {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(#schema::Choice::name(*self))
            }
        }

        impl ::std::str::FromStr for #ty {
            type Err = #schema::UnknownName;

            fn from_str(word: &str) -> ::std::result::Result<Self, Self::Err> {
                #schema::derived::word(word, stringify!(#ty))
            }
        }

        impl #schema::derived::serde::Serialize for #ty {
            fn serialize<S: #schema::derived::serde::Serializer>(
                &self,
                to: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                to.serialize_str(#schema::Choice::name(*self))
            }
        }

        impl<'de> #schema::derived::serde::Deserialize<'de> for #ty {
            fn deserialize<D: #schema::derived::serde::Deserializer<'de>>(
                from: D,
            ) -> ::std::result::Result<Self, D::Error> {
                #schema::derived::serialized::choice(from)
            }
        }
    })
}

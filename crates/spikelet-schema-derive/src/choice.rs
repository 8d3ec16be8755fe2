//! Enums without fields: a value is one of several words.

use crate::options::{Options, documentation, kebab};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Fields, LitStr};

pub(crate) fn derive(input: &DeriveInput, data: &DataEnum) -> syn::Result<TokenStream> {
    let own = Options::of(&input.attrs, &["name", "crate", "snake_case"])?;
    let schema = own.schema();
    let family = own.name.as_ref().map_or_else(
        || kebab(&input.ident.to_string()).replace('-', " "),
        LitStr::value,
    );
    let (mut variants, mut words, mut summaries, mut aliases) = (vec![], vec![], vec![], vec![]);
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(syn::Error::new_spanned(
                variant,
                "a variant of a declared enum has no fields",
            ));
        }
        let options = Options::of(&variant.attrs, &["name", "alias"])?;
        if let Some(alias) = &options.alias {
            let ident = &variant.ident;
            aliases.push(quote!((#alias, Self::#ident)));
        }
        let word = || match (kebab(&variant.ident.to_string()), own.snake_case) {
            (word, true) => word.replace('-', "_"),
            (word, false) => word,
        };
        words.push(options.name.map_or_else(word, |name| name.value()));
        summaries.push(summary(&documentation(&variant.attrs)));
        variants.push(&variant.ident);
    }
    let (ty, count) = (&input.ident, words.len());
    Ok(quote! {
        impl #ty {
            /// All values.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];

            /// The words of all values.
            pub const NAMES: [&'static str; #count] = [#(#words),*];

            /// The word.
            pub const fn name(self) -> &'static str {
                match self {
                    #(Self::#variants => #words,)*
                }
            }

            /// The first paragraph of the value's doc comment, without the dot at its end.
            pub const fn summary(self) -> &'static str {
                match self {
                    #(Self::#variants => #summaries,)*
                }
            }

            /// The value of a word, in any case of its letters.
            ///
            /// # Errors
            /// When no value has this word; the error names the closest one.
            pub fn find(word: &str) -> ::std::result::Result<Self, #schema::UnknownName> {
                #schema::derived::word(word, #family)
            }
        }

        impl #schema::Choice for #ty {
            const ALL: &'static [Self] = &Self::ALL;
            const NAMES: &'static [&'static str] = &Self::NAMES;
            const SUMMARIES: &'static [&'static str] = &[#(#summaries),*];
            const ALIASES: &'static [(&'static str, Self)] = &[#(#aliases),*];
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
                *self = #schema::derived::choice(field, node)?;
                Ok(())
            }

            fn write(&self) -> #schema::derived::serde_json::Value {
                ::std::convert::Into::into(self.name())
            }
        }

        impl ::std::fmt::Display for #ty {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for #ty {
            type Err = #schema::UnknownName;

            fn from_str(word: &str) -> ::std::result::Result<Self, Self::Err> {
                Self::find(word)
            }
        }

        impl #schema::derived::serde::Serialize for #ty {
            fn serialize<S: #schema::derived::serde::Serializer>(
                &self,
                to: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
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

/// The first paragraph of a doc comment on one line, without the dot at its end.
fn summary(doc: &str) -> String {
    let first = doc.split("\n\n").next().unwrap_or_default();
    first.replace('\n', " ").trim_end_matches('.').to_string()
}

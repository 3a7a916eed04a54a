"""Facts that the user let Indwell keep: their page, which of them fit, how they are told. Pure."""

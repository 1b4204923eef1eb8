saml-send-title = Naar uw account
saml-send-lead = U gaat naar ‘{ $provider }’ om in te loggen. Gebeurt er niets, gebruik dan de knop.
saml-send-go = Doorgaan

saml-send-title = Do Twojego konta
saml-send-lead = Przechodzisz do „{ $provider }”, aby się zalogować. Jeśli nic się nie dzieje, użyj przycisku.
saml-send-go = Dalej

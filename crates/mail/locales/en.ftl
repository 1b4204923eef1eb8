mail-code-subject = Your sign-in code
mail-code-lead = You are signing in to { $service }. Type this code into the page that asks for it:
mail-code-valid = { $minutes ->
    [one] The code is valid for one minute, on that page only.
   *[other] The code is valid for { $minutes } minutes, on that page only.
}
mail-code-warning = Never give this code to anyone. If you are not signing in, ignore this mail, and change your password with your identity provider: someone else knows it.
mail-test-subject = Test mail
mail-test = This is a test mail of { $hub }. Nothing needs to be done.
mail-address-kept = Your confirmed e-mail address, encrypted: { $period } after its last use.

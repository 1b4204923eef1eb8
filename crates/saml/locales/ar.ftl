saml-send-title = إلى حسابك
saml-send-lead = أنت ذاهب إلى «{ $provider }» لتسجيل الدخول. إذا لم يحدث شيء، فاستخدم الزر.
saml-send-go = متابعة

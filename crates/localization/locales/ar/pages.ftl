### What a person reads. Short sentences, no protocol words.
### One word for one thing: «خدمة» (who asks), «حساب» (what you sign in with),
### «جهة» (who runs the account), «تسجيل الدخول» (sign-in).

footer-label = روابط مفيدة
language-name = العربية
language-label = اللغة
language-go = تغيير اللغة

## Dates

month-1 = يناير
month-2 = فبراير
month-3 = مارس
month-4 = أبريل
month-5 = مايو
month-6 = يونيو
month-7 = يوليو
month-8 = أغسطس
month-9 = سبتمبر
month-10 = أكتوبر
month-11 = نوفمبر
month-12 = ديسمبر
date-day = { $day } { $month } { $year }
date-month = { $month } { $year } (اليوم غير معروف)
date-year = { $year } (اليوم والشهر غير معروفين)
date-time = { $date } الساعة { $time } (UTC)

## Choice of the account

choice-title = اختيار حساب
choice-title-service = تسجيل الدخول إلى «{ $service }»
choice-lead = اختاروا الحساب الذي تريدون استخدامه.
site-line = يتيح لكم «{ $hub }» تسجيل الدخول إلى الخدمات بحساب لديكم بالفعل.
choice-asks = تطلب خدمة «{ $service }» تسجيل الدخول.
level-eidas1 = يكفي حسابكم المعتاد.
level-eidas2 = تتطلب هذه الخدمة تسجيل دخول أكثر أمانًا بإثباتين، مثل كلمة المرور والهاتف.
level-eidas3 = تتطلب هذه الخدمة أكثر طرق تسجيل الدخول أمانًا، مثل بطاقة الهوية الإلكترونية.
choice-accounts = الحسابات المتاحة
choice-banner = تعذّر تسجيل الدخول بحساب «{ $provider }».
choice-stopped = تم إيقاف تسجيل الدخول بحساب «{ $provider }».
choice-stopped-next = لم يُرسَل أي شيء إلى الخدمة. اختاروا هذا الحساب مرة أخرى أو حسابًا آخر.
choice-less-safe = لم يكن تسجيل الدخول بحساب «{ $provider }» آمنًا بما يكفي لهذه الخدمة.
choice-less-safe-next = لم يُرسَل أي شيء إلى الخدمة. اختاروا حسابًا آخر، أو هذا الحساب مرة أخرى بطريقة تسجيل دخول أكثر أمانًا إن وُجدت.
choice-not-me = أشرتم إلى أن هذا الشخص ليس أنتم. لم يُرسَل أي شيء إلى الخدمة.
choice-not-me-next = قد يظل «{ $provider }» يتذكر الشخص الآخر: إذا ظهر اسمه مجددًا فسجّلوا الخروج لدى «{ $provider }» ثم عودوا.
choice-search = البحث عن حساب بالاسم
choice-search-go = بحث
choice-found-none = لا يوجد حساب متاح يطابق «{ $query }».
choice-show-all = عرض كل الحسابات
choice-total = عدد الحسابات المتاحة: { $total }. يمكن البحث عن حسابكم بالاسم.
choice-range = الحسابات من { $first } إلى { $last } من أصل { $total }
choice-found = { $total ->
    [zero] لم يُعثر على أي حساب
    [one] عُثر على حساب واحد
    [two] عُثر على حسابين
    [few] عُثر على { $total } حسابات
    [many] عُثر على { $total } حسابًا
   *[other] عُثر على { $total } حساب
}
choice-email = البريد الإلكتروني
choice-email-use = لا يُستخدم سوى الجزء الذي يلي علامة @ لمعرفة مكان تسجيل الدخول. ولا يُحفظ العنوان.
choice-email-go = متابعة
choice-email-list = الاختيار من القائمة
choice-email-again = إدخال بريد إلكتروني
choice-email-malformed = يُرجى إدخال عنوان بريد إلكتروني كامل، مثل name@example.org.
choice-email-found = الحسابات المتاحة لعناوين النطاق «{ $domain }»:
choice-email-unknown = لا يوجد حساب مسجّل لعناوين النطاق «{ $domain }». يُرجى اختيار حساب من القائمة.
choice-last-used = آخر حساب مستخدم
choice-forget = عدم تذكّر هذا الحساب
choice-others = حسابات أخرى
choice-see-category = { $category }: عرض كل الحسابات ({ $total })
choice-letters = الحسابات حسب الحرف الأول
choice-pages = صفحات القائمة
choice-previous = الحسابات السابقة
choice-next = الحسابات التالية
choice-none = لا يوجد حساب متاح حاليًا.
choice-no-account = ليس لدي أي من هذه الحسابات
choice-unavailable = غير متاحة حاليًا
choice-recent-trouble = حدثت مشكلة قبل قليل
choice-unavailable-more = { $total ->
    [zero] ولا توجد حسابات أخرى.
    [one] وحساب واحد آخر: لمعرفة السبب، يُرجى البحث عنه بالاسم.
    [two] وحسابان آخران: لمعرفة السبب، يُرجى البحث عن الحساب بالاسم.
    [few] و{ $total } حسابات أخرى: لمعرفة السبب، يُرجى البحث عن الحساب بالاسم.
    [many] و{ $total } حسابًا آخر: لمعرفة السبب، يُرجى البحث عن الحساب بالاسم.
   *[other] و{ $total } حساب آخر: لمعرفة السبب، يُرجى البحث عن الحساب بالاسم.
}
choice-cancel = الإلغاء والعودة إلى «{ $service }»
why-too-low = تسجيل الدخول غير آمن بما يكفي لهذه الخدمة
why-no-reauthentication = لا يتيح إعادة تسجيل الدخول التي تشترطها هذه الخدمة
why-not-for-service = لا يمكن استخدامه لهذه الخدمة
why-in-trouble = معطّل حاليًا
why-off = مغلق حاليًا
why-blocked = موقوف حاليًا

## Typing a password, for an account whose organisation has no page of its own

sign-in-title = تسجيل الدخول بحساب «{ $provider }»
sign-in-username = اسم المستخدم
sign-in-password = كلمة المرور
sign-in-show = إظهار كلمة المرور
sign-in-hide = إخفاء كلمة المرور
sign-in-forgotten = نسيت كلمة المرور
sign-in-whose = يُرجى إدخال كلمة المرور الخاصة بحساب «{ $provider }» دون غيرها. يجري التحقق منها هناك، ولا تُحفظ هنا في أي مكان.
sign-in-go = تسجيل الدخول
sign-in-other = اختيار حساب آخر
sign-in-empty = يُرجى إدخال اسم المستخدم وكلمة المرور.
sign-in-wrong = اسم المستخدم أو كلمة المرور غير صحيحة، أو أن الحساب مقفل مؤقتًا.
sign-in-last = بقيت لديكم محاولة واحدة. إذا كانت خاطئة أيضًا، فيجب الانتظار قبل المحاولة التالية.
sign-in-wait = { $minutes ->
    [one] عدد المحاولات الخاطئة كبير جدًا. يُرجى الانتظار دقيقة واحدة ثم إعادة المحاولة.
    [two] عدد المحاولات الخاطئة كبير جدًا. يُرجى الانتظار دقيقتين ثم إعادة المحاولة.
    [few] عدد المحاولات الخاطئة كبير جدًا. يُرجى الانتظار { $minutes } دقائق ثم إعادة المحاولة.
    [many] عدد المحاولات الخاطئة كبير جدًا. يُرجى الانتظار { $minutes } دقيقة ثم إعادة المحاولة.
   *[other] عدد المحاولات الخاطئة كبير جدًا. يُرجى الانتظار { $minutes } دقيقة ثم إعادة المحاولة.
}
sign-in-new-password = تعيين كلمة مرور جديدة
password-title = كلمة المرور الخاصة بكم
password-must-change = كلمة المرور مقبولة، لكن يجب تغييرها.
password-sign-ins-left = انتهت صلاحية كلمة المرور. يُرجى تغييرها الآن. عدد مرات تسجيل الدخول المتبقية بها: { $count }.
password-expires = ستنتهي صلاحية كلمة المرور قريبًا. يُرجى تغييرها في الوقت المناسب. الأيام المتبقية: { $days }.
password-where = يمكن تغييرها لدى «{ $provider }».

## A code by mail

mail-page-title = أدخلوا الرمز الذي أرسلناه إليكم بالبريد الإلكتروني
mail-page-sent = أرسلنا رمزًا إلى { $address }. وهو صالح لمدة عشر دقائق.
mail-page-why = تطلب خدمة «{ $service }» هذا الرمز إضافة إلى كلمة المرور.
mail-page-code = رمز من ستة أرقام
mail-page-go = متابعة
mail-page-wrong = هذا الرمز غير صحيح. المحاولات المتبقية: { $count }.
mail-page-expired = لم يعد هذا الرمز صالحًا. اطلبوا رمزًا آخر.
mail-page-missing = لم تصلكم أي رسالة بعد دقيقة؟ ابحثوا أيضًا بين الرسائل غير المرغوب فيها، أو اطلبوا رمزًا آخر.
mail-page-resend = إرسال رمز آخر
mail-page-reload = يمكن إرسال رمز آخر بعد دقيقة: أعيدوا تحميل الصفحة
mail-page-unreadable = لا يمكنني الوصول إلى صندوق البريد هذا

## What is sent

inform-title = معلوماتكم المرسلة إلى هذه الخدمة
inform-lead = ستتلقى خدمة «{ $service }» ما يلي:
inform-why = تطلب خدمة «{ $service }» هذه المعلومات لمعرفة هويتكم. لا يُرسل أي شيء قبل أن تتابعوا.
inform-go = المتابعة إلى «{ $service }»
inform-cancel = عدم المتابعة
consent-title = هل توافقون على إرسال هذه المعلومات؟
consent-lead = تطلب خدمة «{ $service }» تلقّي ما يلي:
consent-yes = نعم، أوافق
consent-no = لا، أرفض
consent-person = أنتم تسجّلون الدخول باسم
consent-not-me = هذا ليس أنا
consent-pseudonym = لن تتلقى خدمة «{ $service }» اسمكم ولا أي معلومات أخرى. ستتلقى فقط رقمًا مخصصًا لهذه الخدمة، لتتعرّف عليكم في المرة القادمة.
consent-source-register = مصدر هذه المعلومات السجل الوطني وحسابكم «{ $provider }».
consent-source-provider = مصدر هذه المعلومات حسابكم «{ $provider }».
consent-account = تم تسجيل دخولكم بحساب «{ $provider }».
consent-offline = يمكن لخدمة «{ $service }» أيضًا تلقّيها مجددًا لاحقًا في غيابكم.
value-none = غير مذكور
value-code = الرمز { $code }
country-99100 = فرنسا
claim-given-names = الأسماء الأولى
claim-family-name = اسم العائلة عند الولادة
claim-birthdate = تاريخ الميلاد
claim-gender = الجنس
claim-birthplace = مكان الميلاد
claim-birthcountry = بلد الميلاد
claim-preferred-username = الاسم المتداول
claim-email = البريد الإلكتروني
claim-name = الاسم الكامل
claim-middle-name = الاسم الأوسط
claim-nickname = اسم الشهرة
claim-profile = صفحة الملف الشخصي
claim-picture = الصورة
claim-website = الموقع الإلكتروني
claim-zoneinfo = المنطقة الزمنية
claim-locale = اللغة
claim-updated-at = آخر تعديل للملف الشخصي
claim-email-verified = تم التحقق من البريد الإلكتروني
claim-phone-number = رقم الهاتف
claim-phone-number-verified = تم التحقق من رقم الهاتف
claim-address = العنوان البريدي
value-yes = نعم
value-no = لا
gender-female = أنثى
gender-male = ذكر
gender-unspecified = غير محدد

## Errors: what happened

error-bad-request = طلب الخدمة غير صحيح.
error-not-found = هذه الصفحة غير موجودة.
error-method = لا يمكن استخدام هذه الصفحة بهذه الطريقة.
error-timeout = استغرق وصول الطلب وقتًا طويلًا جدًا.
error-too-large = حجم الطلب كبير جدًا.
error-unknown-host = هذا ليس العنوان الصحيح.
error-internal = حدث خطأ لدينا.
error-unavailable = بوابتنا غير متاحة لفترة قصيرة.
error-busy = عدد الأشخاص الذين يسجّلون الدخول حاليًا كبير جدًا.
error-network-limited = بدأ من شبكتكم عدد كبير جدًا من عمليات تسجيل الدخول خلال دقيقة واحدة.
error-service-limited = بدأت الخدمة عددًا كبيرًا جدًا من عمليات تسجيل الدخول خلال دقيقة واحدة.
error-register = لم يتمكن السجل الوطني من تأكيد هويتكم.
error-register-unavailable = السجل الوطني لا يستجيب.
error-identity-incomplete = تنقص حسابكم معلومة مطلوبة.
error-identity-malformed = تعذّرت قراءة إحدى المعلومات في حسابكم.
error-idp-unavailable = لا يمكن استخدام هذا الحساب.
error-idp-trouble = لدى الجهة التي تدير هذا الحساب مشكلة تقنية.
error-hub-clock = ساعة موقع تسجيل الدخول هذا غير صحيحة، لذلك لا يمكنكم تسجيل الدخول الآن. على الجهة المشغّلة للموقع تصحيحها.
error-idp-busy = عدد مستخدمي حسابات هذه الجهة كبير جدًا حاليًا.
error-idp-denied = توقّف تسجيل الدخول قبل اكتماله.
error-password-change = كلمة المرور صحيحة، لكن يجب تغييرها قبل تسجيل الدخول هنا.
error-account-disabled = كلمة المرور صحيحة، لكن هذا الحساب مغلق أو انتهت صلاحيته. يُرجى التواصل مع الجهة التي تدير هذا الحساب.
error-account-hours = كلمة المرور صحيحة، لكن لا يمكن استخدام هذا الحساب في هذا الوقت من اليوم. يُرجى المحاولة لاحقًا أو التواصل مع الجهة التي تدير هذا الحساب.
error-account-not-permitted = كلمة المرور صحيحة، لكن لا يُسمح لهذا الحساب بتسجيل الدخول هنا. يُرجى التواصل مع الجهة التي تدير هذا الحساب.
error-account-refused = لم يتم التحقق من كلمة المرور لأنه لا يمكن استخدام هذا الحساب: قد يكون مقفلاً أو مغلقًا. يُرجى التواصل مع الجهة التي تدير هذا الحساب.
error-assurance = تسجيل الدخول ليس آمنًا بما يكفي لهذه الخدمة.
error-login-unknown = عملية تسجيل الدخول هذه غير موجودة، أو لم تعد موجودة.
error-login-other-browser = بدأت عملية تسجيل الدخول هذه في متصفح آخر، أو فقد هذا المتصفح ملفات تعريف الارتباط.
error-idp-answer = لا يمكن استخدام ردّ الجهة التي تدير هذا الحساب.
error-login-order = لقد تابعتم في علامة تبويب أخرى.
error-login-done = سبق أن اكتملت عملية تسجيل الدخول هذه.
error-login-expired = استغرقت عملية تسجيل الدخول هذه وقتًا طويلًا جدًا.
error-login-too-many = أُغلقت عملية تسجيل الدخول هذه: كان عدد العمليات المفتوحة كبيرًا جدًا.
error-repeated-cookie = أرسل متصفحكم ملف تعريف الارتباط نفسه لهذا الموقع مرتين. حفاظًا على الأمان، لم يُنفَّذ أي شيء.
error-idp-blocked = تسجيل الدخول بهذا الحساب موقوف حاليًا.
error-idp-blocked-for-service = تسجيل الدخول إلى هذه الخدمة بهذا الحساب موقوف حاليًا.
error-idp-reauthentication = تشترط هذه الخدمة إعادة تسجيل الدخول، ولا يمكن لهذا الحساب إثبات ذلك.
error-redirect-withdrawn = غيّرت الخدمة عنوانها أثناء تسجيل الدخول. ولم يُرسل إليها أي شيء.
error-scope-withdrawn = لم يعد يحق للخدمة تلقّي هذه المعلومات.
error-gate = لا يمكن استخدام هذا الحساب لهذه الخدمة.
error-login-interrupted = انقطعت عملية تسجيل الدخول.
error-cancelled = لقد ألغيتم تسجيل الدخول.
error-refused = لقد رفضتم إرسال معلوماتكم.
error-login-required = يجب تسجيل الدخول للمتابعة.
error-consent-required = موافقتكم مطلوبة للمتابعة.
error-mail-address = يتطلب تسجيل الدخول هذا رمزًا يُرسَل بالبريد الإلكتروني، وليس في حسابكم عنوان بريد إلكتروني.
error-mail-address-unusable = يتطلب تسجيل الدخول هذا رمزًا يُرسَل بالبريد الإلكتروني، ولا يمكننا إرسال رسائل إلى عنوان البريد الإلكتروني في حسابكم.
error-mail-unreadable = لتسجيل الدخول بهذا الحساب، تحتاجون إلى الرمز الذي نرسله إليكم بالبريد الإلكتروني.
error-mail-code-wrong = أُدخل عدد كبير جدًا من الرموز الخاطئة.
error-mail-limited = أُرسل أو أُدخل عدد كبير جدًا من الرموز لهذا الحساب. حاولوا مرة أخرى لاحقًا.
error-mail-unavailable = لا يمكننا حاليًا أن نرسل إليكم رمزًا بالبريد الإلكتروني.
error-csrf = لم يُقبل هذا النموذج لأسباب أمنية.

## Errors: who can fix it, and what to do next

responsible-user = لم يُفقد أي شيء: يمكن البدء من جديد.
responsible-user-other = يمكن تسجيل الدخول بحساب آخر، أو العودة إلى الخدمة.
responsible-register = قد تختلف بيانات حسابكم عن بيانات السجل، مثل الأسماء أو تاريخ الميلاد. يُرجى مطالبة الجهة التي تدير حسابكم بالتحقق منها، أو استخدام حساب آخر.
register-correction = إذا كان الخطأ في السجل نفسه، فيمكن تصحيحه هنا:
responsible-identity = يُرجى مطالبة الجهة التي تدير حسابكم بإكمالها أو تصحيحها، أو استخدام حساب آخر.
responsible-mailbox = إذا لم يعد صندوق البريد هذا لكم، فاطلبوا المساعدة: يمكن إزالة العنوان القديم.
responsible-cookies = اسمحوا بملفات تعريف الارتباط لهذا الموقع، ثم عودوا إلى موقع الخدمة وسجّلوا الدخول مرة أخرى دون تغيير المتصفح.
responsible-repeated-cookie = افتحوا نافذة خاصة في متصفحكم، وانتقلوا إلى موقع الخدمة، ثم سجّلوا الدخول هناك. لاستخدام نافذة عادية من جديد، احذفوا ملفات تعريف الارتباط لهذا الموقع من إعدادات متصفحكم.
responsible-newer-tab = تابعوا في علامة التبويب أو النافذة التي فتحتموها أخيرًا. يمكنكم إغلاق هذه الصفحة.
responsible-connection = قد يكون اتصالكم بالإنترنت بطيئًا. تحققوا منه ثم حاولوا مرة أخرى.
responsible-user-continue = لم يُفقد أي شيء: يمكنكم المتابعة.
responsible-other-tab = ما قمتم به هنا يخص خطوة سابقة. لم يُفقد أي شيء: تابعوا هنا أو في علامة التبويب الأخرى.
responsible-finished = لقد أكملتموها هنا أو في علامة تبويب أخرى. يمكنكم إغلاق هذه الصفحة. لتسجيل الدخول مرة أخرى، ابدؤوا من الخدمة.
retry-later = لم يُفقد أي شيء. يُرجى إعادة المحاولة بعد بضع دقائق.
retry-wait = { $seconds ->
    [one] لم يُفقد أي شيء. يمكنكم المحاولة مرة أخرى بعد ثانية واحدة.
    [two] لم يُفقد أي شيء. يمكنكم المحاولة مرة أخرى بعد ثانيتين.
    [few] لم يُفقد أي شيء. يمكنكم المحاولة مرة أخرى بعد { $seconds } ثوانٍ.
   *[other] لم يُفقد أي شيء. يمكنكم المحاولة مرة أخرى بعد { $seconds } ثانية.
}
retry-auto = ستحاول هذه الصفحة عندئذٍ تلقائيًا مرة أخرى.
retry-auto-later = تعيد هذه الصفحة المحاولة تلقائيًا أيضًا بضع مرات.
retry-stop = إيقاف المحاولة التلقائية
responsible-service = لا يمكن إصلاح ذلك إلا من جانب الخدمة التي جئتم منها. يُرجى تزويدها بالمراجع الواردة أسفل الصفحة.
responsible-provider = إصلاح ذلك من اختصاص الجهة التي تدير حسابكم. يُرجى تزويدها بالمراجع الواردة أسفل الصفحة. وقد ينجح تسجيل الدخول بحساب آخر.
responsible-answer = الخدمة ليست مسؤولة عن ذلك: فقد أرسلت الجهة التي تدير الحساب ردًّا خاطئًا، أو ردًّا على محاولة سابقة. يمكن متابعة تسجيل الدخول، وقد ينجح ذلك بحساب آخر.
responsible-answer-alone = الخدمة ليست مسؤولة عن ذلك: فقد أرسلت الجهة التي تدير الحساب ردًّا خاطئًا، ولا توجد عملية تسجيل دخول جارية في هذا المتصفح. يمكن إغلاق هذه الصفحة ثم العودة إلى موقع الخدمة.
responsible-operator = إصلاح ذلك من مسؤوليتنا. يُرجى إعادة المحاولة بعد بضع دقائق.
error-no-way = يمكن إغلاق هذه الصفحة ثم العودة إلى موقع الخدمة.
support-link = طلب المساعدة
error-claim = المعلومة المعنية: { $claim }.
error-service = الخدمة: «{ $service }»
error-account = الحساب: «{ $provider }»
action-again = إعادة المحاولة
action-continue = متابعة تسجيل الدخول
action-other = اختيار حساب آخر
action-service = العودة إلى «{ $service }»
action-service-unnamed = العودة إلى الخدمة
action-home = البدء من جديد من «{ $service }»
action-home-unnamed = البدء من جديد من الخدمة
action-sign-out = تسجيل الخروج هنا
refs-title = معلومات للدعم الفني
refs-code = الرمز
refs-precise = الرمز الثاني
refs-support = المرجع
refs-time = التاريخ
refs-developer = للفريق التقني للخدمة

## Return to the service, signed out

return-title = العودة إلى الخدمة
return-lead = ستجري العودة إلى «{ $service }». إذا لم يحدث شيء، يُرجى استخدام الزر.
return-go = متابعة
log-out-title = هل تريدون تسجيل الخروج؟
log-out-requested = تطلب خدمة «{ $service }» تسجيل الخروج.
log-out-account = تم تسجيل دخولكم هنا بحساب «{ $provider }». بعد تسجيل الخروج، ستطلب كل خدمة تسجيل الدخول من جديد.
log-out-no-session = يبدو أنه لم يسجّل أحد الدخول هنا في هذا المتصفح. وللتأكد، يمكن تسجيل الخروج مع ذلك.
log-out-go = تسجيل الخروج
log-out-stay = العودة إلى «{ $service }» دون تسجيل الخروج
log-out-close = للبقاء دون تسجيل الخروج، يكفي إغلاق هذه الصفحة.
landing-title = تسجيل دخول واحد لخدمات عديدة
landing-go = لا يتم تسجيل الدخول في هذه الصفحة. اذهبوا إلى موقع الخدمة التي تريدون استخدامها واختاروا تسجيل الدخول هناك: ستُعادون إلى هنا.
landing-shared = هل استخدمتم جهازًا مشتركًا؟ سجّلوا الخروج هنا قبل مغادرته.
logged-out-title = تم تسجيل الخروج
logged-out-lead = انتهت جلسة دخولكم هنا.
logged-out-provider = تم أيضًا تسجيل خروجكم من حساب «{ $provider }».
logged-out-services = قد تُبقيكم الخدمات التي استخدمتموها مسجّلين الدخول. سجّلوا الخروج من كل منها أيضًا:
logged-out-unreached = تعذّر إبلاغ «{ $provider }». ولمزيد من الأمان، يُرجى تسجيل الخروج من ذلك الحساب أيضًا، أو إغلاق المتصفح.
logged-out-start = إلى الصفحة الرئيسية

## Sandbox

sandbox-ribbon = بيئة تجريبية: لا شيء هنا حقيقي
sandbox-title = بأي شخصية تريدون الدخول؟
sandbox-lead = «{ $provider }» حساب تجريبي. يُرجى اختيار شخص، وما ينبغي أن يحدث.
sandbox-person = الشخص
sandbox-level = أمان تسجيل الدخول
sandbox-level-too-low = أدنى من المطلوب: سيُرفض
sandbox-methods = الوسائل المستخدمة
sandbox-failure = ماذا ينبغي أن يحدث؟
sandbox-go = تسجيل الدخول

## Demonstration service

demo-title = تجربة تسجيل الدخول
demo-lead = تعرض هذه الخدمة الوهمية عملية تسجيل دخول كاملة، ثم كل ما تلقّته. لا توجد أي بيانات حقيقية.
demo-step-1 = اختيار حساب تجريبي.
demo-step-2 = اختيار الشخصية.
demo-step-3 = الاطلاع على ما تتلقاه الخدمة.
demo-standard = المنصة القياسية
demo-standard-lead = مصدر الهوية السجل الوطني. والرموز المميزة موقّعة.
demo-high = المنصة العالية
demo-high-lead = مصدر الهوية مزوّد الحساب. والرموز المميزة موقّعة ثم مشفّرة: لا يمكن لغير هذه الخدمة قراءتها.
demo-sign-in-eidas1 = تسجيل الدخول: منخفض (eidas1)
demo-sign-in-eidas2 = تسجيل الدخول: متوسط (eidas2)
demo-sign-in-eidas3 = تسجيل الدخول: عالٍ (eidas3)
demo-in-title = تم تسجيل الدخول
demo-in-lead = هذا كل ما تلقّته الخدمة، بعد التحقق منه.
demo-claims = المعلومات المتلقّاة
demo-in-encrypted = وصل الرمزان المميزان مشفّرين، وفُكّ تشفيرهما بالمفتاح الخاص للخدمة.
demo-id-token = رمز الهوية (ID token)
demo-jwe-header = ترويسة التشفير (JWE)
demo-header = ترويسة التوقيع (JWS)
demo-payload = المحتوى
demo-userinfo = معلومات الشخص (userinfo)
demo-data = ما يعرفه مزوّد البيانات
demo-data-lead = استدعته الخدمة برمز الوصول، فسأل البوابة عن صاحب هذا الرمز.
demo-token-answer = ردّ نقطة نهاية الرموز المميزة
demo-sign-out = تسجيل الخروج
demo-sign-in-again = تسجيل الدخول من جديد
demo-error-title = فشل تسجيل الدخول
demo-error-lead = تلقّت الخدمة هذا الردّ بدلًا من تسجيل الدخول.
demo-wallet-title = محفظة تجريبية
demo-wallet-lead = وثائق هذه المحفظة خيالية. تطلب «{ $hub }» ما يلي:
demo-wallet-agree = موافقة وإرسال
demo-wallet-decline = رفض
demo-error-code = الخطأ
demo-error-description = الوصف
demo-refused-lead = تلقّت الخدمة ردًّا لا يمكنها الوثوق به، أو لم تتلقَّ أي ردّ. ولم تستخدم منه شيئًا.
demo-refused-reason = السبب
sandbox-level-eidas1 = منخفض (eidas1)
sandbox-level-eidas2 = متوسط (eidas2)
sandbox-level-eidas3 = عالٍ (eidas3)
sandbox-failure-none = يسير كل شيء على ما يرام
sandbox-failure-cancel = يتراجع الشخص
sandbox-failure-error = يتعطّل مزوّد الحساب
sandbox-failure-missing-claim = تصل الهوية دون تاريخ الميلاد
sandbox-failure-unknown-person = لا يعرف السجل هذا الشخص
sandbox-failure-level-too-low = تسجيل الدخول أقل أمانًا من المطلوب
demo-sign-in-consent = تسجيل الدخول مع إعطاء الموافقة (eidas1)
demo-methods = كيف سجّل الشخص دخوله
demo-method-mark = علامة البوابة
demo-out-title = تم تسجيل الخروج
demo-out-lead = ما انتهى، بقدر ما يمكن للخدمة أن تعرف:
demo-out-service = هذه الخدمة: انتهت جلستها.
demo-out-hub = البوابة: انتهت جلستها. وقد أعادت المتصفح مع قيمة «state» الخاصة بتسجيل الخروج هذا.
demo-out-hub-unknown = البوابة: غير معروف. لم تُعِد المتصفح.
demo-out-provider = مزوّد الحساب: توجّه البوابة المتصفح إليه لتسجيل الخروج، حيثما أمكن ذلك. ولا تتلقى الخدمة أي تأكيد لذلك.
demo-out-provider-unknown = مزوّد الحساب: غير معروف.
demo-next = الخطوة التالية:
demo-next-start = يُرجى تسجيل الدخول. عند اختيار الحساب، أحد الحسابات محظور وآخر يتعذّر الوصول إليه: يظهر ما يراه الشخص. للمزيد: { $page }
demo-next-in = تحسب وحدة تحكم المشغّل عملية الدخول هذه، ولا تعرض أي اسم. لتسجيل الدخول من تطبيق خاص بكم: { $page }
demo-next-out = يُرجى تسجيل الدخول من جديد: يُختار الحساب والشخص مرة أخرى، إذ لم تبقَ أي جلسة. للمزيد: { $page }
demo-next-error = إذا عرضت إحدى الصفحات مرجعًا، فيمكن البحث عنه في وحدة تحكم المشغّل. جميع رموز الأخطاء: { $page }
demo-console-standard = وحدة تحكم المشغّل، القياسية
demo-console-high = وحدة تحكم المشغّل، العالية
sandbox-next = ضمن «ماذا ينبغي أن يحدث؟»، يُرجى اختيار خطأ لمعرفة ما يتلقاه الشخص والخدمة. للمزيد: { $page }
method-pwd = كلمة المرور
method-pin = رمز PIN
method-kba = أسئلة شخصية
method-otp = رمز لمرة واحدة
method-sms = رسالة نصية
method-tel = مكالمة هاتفية
method-hwk = مفتاح مادي
method-swk = مفتاح برمجي
method-sc = بطاقة ذكية
method-pop = إثبات حيازة مفتاح
method-face = الوجه
method-fpt = بصمة الإصبع
method-iris = القزحية
method-retina = الشبكية
method-vbm = الصوت
method-mail = البريد الإلكتروني
method-geo = الموقع
method-mca = عدة قنوات
method-rba = تقييم المخاطر
method-user = حضور الشخص
method-wia = تسجيل دخول Windows
method-mfa = عدة عوامل

# What the operator has to say to everybody
notice-warning = مهم:
notice-more = معرفة المزيد

## The pages about an OAuth error, for developers

oauth-error-title = الخطأ { $error }
oauth-error-lead = هذه الصفحة موجّهة إلى من يطوّرون خدمة أو يشغّلونها. ردّت البوابة بهذا الخطأ على طلب من خادم الخدمة. إذا كان الغرض هو تسجيل الدخول فقط، فيُرجى العودة إلى الخدمة.
oauth-error-causes = الأسباب المحتملة، وما يجب فعله
oauth-error-precise = هذه الصفحة واحدة لكل من هذه الأسباب، كي لا تكشف عن أي خدمة. وقد يتضمن error_description مزيدًا من التفاصيل. ويمكن لمشغّل البوابة العثور على السبب الدقيق في السجلات، بالاستناد إلى الوقت و client_id الخاص بكم.
oauth-error-documentation = وثائق للخدمات
oauth-error-invalid-request =
    أحد المعاملات ناقص أو فارغ أو مُرسل مرتين: يذكر error_description اسمه. يجب إرساله مرة واحدة.
    متن الطلب ليس نموذجًا: يجب إرساله بصيغة application/x-www-form-urlencoded.
    يُصادق العميل على نفسه بطريقتين، مثلًا في الترويسة وفي المتن: يجب استخدام الطريقة المسجّلة وحدها.
oauth-error-invalid-client =
    يُصادق العميل على نفسه بطريقة غير الطريقة المسجّلة. ترسل مكتبات كثيرة السرّ في الترويسة؛ والطريقة الافتراضية للبوابة هي client_secret_post في المتن.
    السرّ خاطئ أو منتهي الصلاحية أو لم تبدأ صلاحيته بعد. يجب مقارنته، دون مسافات قبله أو بعده، وطلب سرّ جديد من المشغّل عند الحاجة.
    قيمة client_id غير معروفة هنا أو معطّلة: لكل منصة ولكل بيئة قيمة خاصة بها.
    لم يُقبل التأكيد الموقّع: يجب التحقق من مفتاحه، ومن aud (جهة الإصدار)، ومن exp، ومن أن jti جديد.
oauth-error-invalid-grant =
    رمز التفويض قديم جدًا أو سبق استخدامه: يجب استبداله مرة واحدة، فور وصوله.
    تختلف قيمة redirect_uri عن قيمتها في طلب التفويض.
    تعود قيمة code_verifier إلى عملية تسجيل دخول أخرى: يجب حفظها في جلسة المتصفح الذي بدأ العملية.
    صدر رمز التفويض لعميل آخر، أو سجّل المستخدم الخروج في هذه الأثناء.
oauth-error-unsupported-grant-type =
    يجب أن تكون قيمة grant_type هي authorization_code، أو refresh_token إذا كانت الخدمة مسجَّلة لاستخدام رموز التحديث. وبدونها يجب بدء عملية تسجيل دخول جديدة: ومع prompt=none لا تظهر أي صفحة ما دامت الجلسة قائمة.
oauth-error-temporarily-unavailable =
    البوابة مثقلة بالطلبات، أو لا يمكنها جلب المفاتيح من jwks_uri: يجب إعادة المحاولة بعد قليل، أو بعد مهلة Retry-After إذا وردت في الردّ.
    فشلت محاولات مصادقة كثيرة جدًا بقيمة client_id الخاصة بكم: يجب تصحيح بيانات الاعتماد، ثم الانتظار.
oauth-error-server-error =
    حدث خطأ داخلي في البوابة: يجب تزويد مشغّلها بالوقت وبقيمة client_id الخاصة بكم.

## Diagnostics of a sandbox hub, for developers

diagnostics-title = ماذا تفعل البوابة بهذا الطلب؟
diagnostics-lead = يُرجى لصق العنوان الذي توجّه خدمتكم المتصفح إليه. تشرح البوابة كل معامل، ولا تبدأ أي عملية تسجيل دخول.
diagnostics-result = النتيجة
diagnostics-parameters = المعاملات واحدًا تلو الآخر
diagnostics-url = عنوان طلب التفويض
diagnostics-help = العنوان كاملًا، من بدايته (https) إلى آخر معامل. لا يُحفظ ولا يُعرض مرة أخرى.
diagnostics-go = شرح
token-diagnostic-title = سبب فشل طلب الرموز المميزة
token-diagnostic-lead = يمكن فتح هذه الصفحة لمدة عشر دقائق. ولا تعرض السبب الدقيق إلا البيئة التجريبية؛ أما في بيئة الإنتاج، فلا ترى خدمتكم سوى الخطأ.
token-diagnostic-fix = ما يجب فعله

public-status-title = حالة الخدمة
public-status-feed = حالة { $hub }
public-status-no-problem = يمكنكم تسجيل الدخول بكل الحسابات.
public-status-problems = المشكلات الحالية
public-status-planned-title = الانقطاعات المقررة
public-status-down = لا يعمل
public-status-degraded = عاد إلى العمل بعد أعطال حدثت قبل قليل
public-status-blocked = موقوف
public-status-planned = انقطاع مقرر
public-status-begins = يبدأ:
public-status-ends = ينتهي:
public-status-from = ابتداءً من { $time }.
public-status-until = حتى { $time }.
public-status-time = الحالة بتاريخ
public-accessibility-title = بيان إمكانية الوصول
public-accessibility-scope = يخص هذا البيان صفحات تسجيل الدخول في { $hub }، التي ينبغي أن يتمكن الجميع من استخدامها (توجيه الاتحاد الأوروبي 2016/2102).
public-accessibility-conformity = المطابقة
public-accessibility-full = الصفحات مطابقة للمعيار EN 301 549 ولإرشادات WCAG 2.1، المستوى AA.
public-accessibility-partial = الصفحات مطابقة جزئيًا للمعيار EN 301 549 ولإرشادات WCAG 2.1، المستوى AA، مع الاستثناءات التالية.
public-accessibility-none = الصفحات غير مطابقة للمعيار EN 301 549 ولا لإرشادات WCAG 2.1، المستوى AA، للأسباب التالية.
public-accessibility-defects = محتوى لا تتوفر فيه إمكانية الوصول
public-accessibility-preparation = إعداد هذا البيان
public-accessibility-prepared = أُعدّ بتاريخ { $date }.
public-accessibility-self = يستند إلى تقييم أجرته الجهة المشغّلة للموقع.
public-accessibility-external = يستند إلى تقييم أجرته جهة أخرى.
public-accessibility-feedback = الإبلاغ عن مشكلة
public-accessibility-contact = راسلونا إذا واجهتم عائقًا أو احتجتم إلى هذه الصفحات بشكل آخر:
public-accessibility-enforcement = إذا لم تكتفوا بردّنا
public-accessibility-body = يمكنكم اللجوء إلى هذه الهيئة:
public-privacy-title = إشعار الخصوصية
public-privacy-scope = يخص هذا الإشعار البيانات التي يعالجها { $hub } عندما تسجّلون الدخول إلى خدمة.
public-privacy-controller = المسؤول عن معالجة البيانات
public-privacy-officer = مسؤول حماية البيانات:
public-privacy-purpose-title = الغرض من البيانات
public-privacy-purpose = تعرف الخدمة التي اخترتموها هويتكم، ويمكنها الاعتماد على ذلك.
public-privacy-basis = الأساس القانوني:
public-privacy-data-title = البيانات ومصدرها
public-privacy-data = يبيّن الحساب الذي تختارونه هويتكم وكيفية تسجيل دخولكم ومدى موثوقية ذلك. ولا تتلقى الخدمة إلا ما يحق لها طلبه.
public-privacy-register = ويؤكد سجل للأشخاص هذه البيانات أو يكملها.
public-privacy-recipients = من يتلقى البيانات
public-privacy-service = الخدمة التي تسجّلون الدخول إليها
public-privacy-periods = مدة حفظ البيانات
public-privacy-login = بيانات تسجيل دخول لم يكتمل: { $period } على الأكثر.
public-privacy-session = بيانات جلستكم: حتى تسجيل الخروج، وعند عدم الاستخدام: { $idle }، وعلى الأكثر: { $period }.
public-privacy-refresh = بيانات لخدمة يمكنها تلقّيها مجددًا في غيابكم: { $period } على الأكثر، أو حتى تسحبوا هذا الإذن.
public-privacy-recent = أوقات عمليات تسجيل الدخول الأخيرة وخدماتها وأخطاؤها، دون اسمكم، للدعم الفني: { $period } على الأكثر.
public-privacy-audit = سجل التدقيق، وفيه أسماء مستعارة وخدمات وأوقات: { $period }.
public-privacy-audit-unlimited = سجل التدقيق، وفيه أسماء مستعارة وخدمات وأوقات: دون مدة محددة.
public-privacy-choice = ملف تعريف ارتباط بآخر حساب اخترتموه: { $period }.
public-privacy-rights-title = حقوقك
public-privacy-rights = يمكنكم الاطلاع على بياناتكم وطلب تصحيحها أو حذفها أو تقييد استخدامها، والاعتراض على استخدامها.
public-privacy-complaint = يمكنكم تقديم شكوى إلى:
public-status-available-count =
    { $count ->
        [one] يعمل حساب واحد.
        [two] يعمل حسابان.
        [few] تعمل { $count } حسابات.
        [many] يعمل { $count } حسابًا.
       *[other] يعمل { $count } حساب.
    }
public-days =
    { $count ->
        [one] يوم واحد
        [two] يومان
        [few] { $count } أيام
        [many] { $count } يومًا
       *[other] { $count } يوم
    }
public-hours =
    { $count ->
        [one] ساعة واحدة
        [two] ساعتان
        [few] { $count } ساعات
        [many] { $count } ساعة
       *[other] { $count } ساعة
    }
public-minutes =
    { $count ->
        [one] دقيقة واحدة
        [two] دقيقتان
        [few] { $count } دقائق
        [many] { $count } دقيقة
       *[other] { $count } دقيقة
    }

/* A PKCS#11 module that forwards to SoftHSM, and fails as the file FAULT_FILE says:
 *   removed       there is no token, and calls of open sessions fail
 *   lost:WORD     sessions opened before this WORD was written are invalid
 *   slow:MILLIS   each signature takes that long
 *   hang          signatures do not return while the file says so
 *   broken        each signature fails with an unspecific error
 *   corrupt       each signature has one wrong bit
 * Each login is one line of FAULT_FILE.logins. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/file.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long rv_t;
typedef unsigned long ulong_t;
typedef struct { unsigned char version[2]; void *function[68]; } function_list;
enum { INITIALIZE = 0, GET_FUNCTION_LIST = 3, GET_SLOT_LIST = 4, OPEN_SESSION = 12, LOGIN = 18,
       FIND_OBJECTS_INIT = 26, DECRYPT_INIT = 33, SIGN_INIT = 42, SIGN = 43, DERIVE_KEY = 62 };
enum { OK = 0, GENERAL_ERROR = 0x05, DEVICE_REMOVED = 0x32,
       SESSION_HANDLE_INVALID = 0xB3, TOKEN_NOT_PRESENT = 0xE0 };

static function_list *real, ours;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char lost_word[64];
static ulong_t valid[1024];
static int valid_count, has_lost;

static void read_fault(char *fault, size_t size) {
  FILE *file = fopen(FAULT_FILE, "r");
  size_t length = file ? fread(fault, 1, size - 1, file) : 0;
  fault[length] = 0;
  fault[strcspn(fault, "\n")] = 0;
  if (file) fclose(file);
}

static int is(const char *name) {
  char fault[64];
  read_fault(fault, sizeof fault);
  return strncmp(fault, name, strlen(name)) == 0;
}

static void forget_lost_sessions(void) {
  char fault[64];
  read_fault(fault, sizeof fault);
  if (strncmp(fault, "lost:", 5) == 0 && strcmp(fault, lost_word) != 0) {
    strcpy(lost_word, fault);
    valid_count = 0;
    has_lost = 1;
  }
}

static rv_t check_session(ulong_t session) {
  int found = 0;
  if (is("removed")) return DEVICE_REMOVED;
  pthread_mutex_lock(&lock);
  forget_lost_sessions();
  for (int i = 0; i < valid_count; i++) found |= valid[i] == session;
  found |= !has_lost;
  pthread_mutex_unlock(&lock);
  return found ? OK : SESSION_HANDLE_INVALID;
}

/* SoftHSM does not bear two initializations at the same time, and each test has a copy of this module: a file locks them all. */
static rv_t initialize(void *arguments) {
  int conf = open(SOFTHSM_CONF, O_RDONLY);
  flock(conf, LOCK_EX);
  setenv("SOFTHSM2_CONF", SOFTHSM_CONF, 1);
  rv_t rv = ((rv_t(*)(void *))real->function[INITIALIZE])(arguments);
  close(conf);
  return rv;
}

/* Ends the process before the destructors of SoftHSM, which threads may still use. */
static void skip_destructors(int status, void *unused) {
  fflush(NULL);
  _exit(status);
}

static rv_t get_slot_list(unsigned char present, ulong_t *slots, ulong_t *count) {
  if (is("removed")) { *count = 0; return OK; }
  return ((rv_t(*)(unsigned char, ulong_t *, ulong_t *))real->function[GET_SLOT_LIST])(present, slots, count);
}

static rv_t open_session(ulong_t slot, ulong_t flags, void *app, void *notify, ulong_t *session) {
  if (is("removed")) return TOKEN_NOT_PRESENT;
  rv_t rv = ((rv_t(*)(ulong_t, ulong_t, void *, void *, ulong_t *))real->function[OPEN_SESSION])(slot, flags, app, notify, session);
  pthread_mutex_lock(&lock);
  forget_lost_sessions();
  if (rv == OK && valid_count < 1024) valid[valid_count++] = *session;
  pthread_mutex_unlock(&lock);
  return rv;
}

static rv_t login(ulong_t session, ulong_t user, unsigned char *pin, ulong_t length) {
  FILE *log = fopen(FAULT_FILE ".logins", "a");
  if (log) { fputs("login\n", log); fclose(log); }
  return ((rv_t(*)(ulong_t, ulong_t, unsigned char *, ulong_t))real->function[LOGIN])(session, user, pin, length);
}

static rv_t find_objects_init(ulong_t session, void *template, ulong_t count) {
  rv_t rv = check_session(session);
  return rv ? rv : ((rv_t(*)(ulong_t, void *, ulong_t))real->function[FIND_OBJECTS_INIT])(session, template, count);
}

static rv_t decrypt_init(ulong_t session, void *mechanism, ulong_t key) {
  rv_t rv = check_session(session);
  return rv ? rv : ((rv_t(*)(ulong_t, void *, ulong_t))real->function[DECRYPT_INIT])(session, mechanism, key);
}

static rv_t derive_key(ulong_t session, void *mechanism, ulong_t key, void *template, ulong_t count, ulong_t *derived) {
  rv_t rv = check_session(session);
  return rv ? rv : ((rv_t(*)(ulong_t, void *, ulong_t, void *, ulong_t, ulong_t *))real->function[DERIVE_KEY])(session, mechanism, key, template, count, derived);
}

static rv_t sign_init(ulong_t session, void *mechanism, ulong_t key) {
  rv_t rv = check_session(session);
  return rv ? rv : ((rv_t(*)(ulong_t, void *, ulong_t))real->function[SIGN_INIT])(session, mechanism, key);
}

static rv_t sign(ulong_t session, unsigned char *data, ulong_t length, unsigned char *signature, ulong_t *size) {
  char fault[64];
  read_fault(fault, sizeof fault);
  if (signature && strncmp(fault, "slow:", 5) == 0) usleep(1000 * atoi(fault + 5));
  while (signature && is("hang")) usleep(10000);
  rv_t rv = ((rv_t(*)(ulong_t, unsigned char *, ulong_t, unsigned char *, ulong_t *))real->function[SIGN])(session, data, length, signature, size);
  if (signature && strcmp(fault, "broken") == 0) return GENERAL_ERROR;
  if (signature && strcmp(fault, "corrupt") == 0) signature[0] ^= 1;
  return rv;
}

rv_t C_GetFunctionList(function_list **list) {
  if (!real) {
    void *module = dlopen(SOFTHSM_MODULE, RTLD_NOW);
    rv_t (*get)(function_list **) = module ? (rv_t(*)(function_list **))dlsym(module, "C_GetFunctionList") : 0;
    if (!get || get(&real)) return GENERAL_ERROR;
    on_exit(skip_destructors, NULL);
    ours = *real;
    ours.function[INITIALIZE] = initialize;
    ours.function[GET_FUNCTION_LIST] = C_GetFunctionList;
    ours.function[GET_SLOT_LIST] = get_slot_list;
    ours.function[OPEN_SESSION] = open_session;
    ours.function[LOGIN] = login;
    ours.function[FIND_OBJECTS_INIT] = find_objects_init;
    ours.function[DECRYPT_INIT] = decrypt_init;
    ours.function[SIGN_INIT] = sign_init;
    ours.function[SIGN] = sign;
    ours.function[DERIVE_KEY] = derive_key;
  }
  *list = &ours;
  return OK;
}

import { secretBox } from '@/secrets/secret-box.ts'

/** What a deployment of a test's own has for its secret. */
export const SECRET = 'a secret for tests, long enough for everybody'

/** What it seals things in. */
export const box = secretBox(SECRET)

import { timingSafeEqual } from 'node:crypto'
import { unauthorized } from '../base/errors.ts'
import { hashToken } from './admin-token.ts'

/** Who is calling. */
export interface Caller {
  kind: 'admin'
  id: string
}

export interface Access {
  /** Throws the same error, after the same work, for every token that is not valid. */
  authenticate(token: string | undefined): Caller
}

export function createAccess(adminToken: string): Access {
  const expected = hashToken(adminToken)
  return {
    authenticate(token) {
      if (!timingSafeEqual(hashToken(token ?? ''), expected)) throw unauthorized()
      return { kind: 'admin', id: 'admin' }
    },
  }
}

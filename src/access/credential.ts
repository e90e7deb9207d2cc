import type { Caller, Rights } from './caller.ts'
import type { RequestLimit } from './request-quota.ts'

/** A credential that was recognized, and what it is limited to. */
export interface RecognizedToken {
  readonly caller: Caller
  readonly limits: readonly RequestLimit[]
}

/** What any credential gives: a secret of a token, a session, or the cookie of a browser. */
export interface Key extends RecognizedToken {
  /** The hash of the secret; a session has that of its token. */
  readonly hash: Buffer
  readonly rights: Rights
  /** A clock that is set back must not prolong a session beyond the longest one. */
  readonly validFromMs: number
  readonly validUntilMs: number
  /** When the token or person ends; a session may end earlier. */
  readonly ownerUntilMs: number
  /** What a cookie says of itself. */
  readonly cookie?: { readonly id: string; readonly signedInMs: number }
  /** Id of the cookie that it is or was created with, and ends with. */
  readonly signIn?: string | undefined
}

export function isValid({ validFromMs, validUntilMs }: Key, nowMs: number): boolean {
  return nowMs >= validFromMs && nowMs < validUntilMs
}

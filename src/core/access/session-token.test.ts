import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashToken } from './admin-token.ts'
import {
  maxSessionLength,
  type Session,
  sessionKey,
  signSession,
  splitSession,
  verifySession,
} from './session-token.ts'

const parent = '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11'
const key = sessionKey('the secret of the service', hashToken('wh_parent'))
const session: Session = {
  id: 'one',
  expiresMs: 1_800_000_000_000,
  scopes: ['query:logs.all'],
  project: 'Grüße 🚰 "x"\\',
  parameters: { tier: 'PRO' },
  requestsPerMinute: null,
}

const read = (token: string, by = key) => {
  const parts = splitSession(token)
  return parts && verifySession(parts, by)
}

test('a session with any text reads back as it was signed', () => {
  const token = signSession(parent, session, key)
  expect(token).toMatch(/^whs_[\w.-]+$/)
  expect(splitSession(token)?.parent).toBe(parent)
  expect(read(token)).toEqual(session)
  expect(splitSession(signSession('admin', session, key))?.parent).toBe('admin')
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer(), (project, expiresMs) => {
      const other = { ...session, project, expiresMs }
      expect(read(signSession(parent, other, key))).toEqual(other)
    }),
  )
})

test('no other text is a session', () => {
  const token = signSession(parent, session, key)
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.string({ maxLength: 2 }), (at, text) => {
      const changed = token.slice(0, at) + text + token.slice(at + 1)
      fc.pre(changed !== token)
      expect(read(changed)).toBeUndefined()
    }),
    { numRuns: 1000 },
  )
  for (let length = 0; length < token.length; length++) expect(read(token.slice(0, length))).toBeUndefined()
  for (const other of [`${token}A`, `${token}\n`, ` ${token}`, `${token}.${token}`, token.toUpperCase()]) {
    expect(read(other)).toBeUndefined()
  }
})

test('every character of the signature counts, also those whose last bits decode to nothing', () => {
  const token = signSession(parent, session, key)
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const accepted = [...alphabet].filter((last) => read(token.slice(0, -1) + last) !== undefined)
  expect(accepted).toEqual([token.at(-1)])
})

test('the content of one session does not fit another signature, parent or key', () => {
  const one = signSession(parent, session, key)
  const wider = signSession(parent, { ...session, scopes: ['admin'], project: null }, Buffer.alloc(32))
  const [, content] = wider.split('.')
  const [head, , signature] = one.split('.')
  expect(read(`${head}.${content}.${signature}`)).toBeUndefined()
  expect(read(one.replace(parent, parent.replace('5f', '6f')))).toBeUndefined()
  for (const [secret, token] of [
    ['the secret of the service', 'wh_other'],
    ['another service', 'wh_parent'],
  ] as const) {
    expect(read(one, sessionKey(secret, hashToken(token)))).toBeUndefined()
  }
  // Someone who read the stored hash, but does not have the secret of the service.
  const forged = createHmac('sha256', hashToken('wh_parent')).update(`${head}.${content}`).digest('base64url')
  expect(read(`${head}.${content}.${forged}`)).toBeUndefined()
})

test('huge texts are refused before they are read', () => {
  const long = signSession(parent, { ...session, project: 'x'.repeat(maxSessionLength) }, key)
  expect(splitSession(long)).toBeUndefined()
  expect(splitSession(`whs_${'a'.repeat(10_000_000)}`)).toBeUndefined()
})

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { createToken, hashToken, isMistyped, loadAdminToken } from './admin-token.ts'

/** Path of a data directory that does not exist yet. */
function newDataDirectory(): string {
  const { path, remove } = scratchDirectory()
  onTestFinished(remove)
  return join(path, 'data')
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}

describe('a token', () => {
  test('has a prefix, 32 letters or digits of secret, and a checksum of six', () => {
    for (let i = 0; i < 100; i++) {
      const token = createToken()
      expect(token).toMatch(/^wh_[0-9A-Za-z]{38}$/)
      expect(isMistyped(token)).toBe(false)
    }
  })

  test('is never the same twice', () => {
    const tokens = new Set(Array.from({ length: 1000 }, createToken))
    expect(tokens.size).toBe(1000)
  })

  test('uses every letter and digit', () => {
    const letters = new Set(Array.from({ length: 200 }, () => createToken().slice(3, 35)).join(''))
    expect(letters.size).toBe(62)
  })

  test('is mistyped with one wrong character', () => {
    const alphabet = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
    const typo = fc.record({ at: fc.integer({ min: 3, max: 40 }), wrong: fc.constantFrom(...alphabet) })
    fc.assert(
      fc.property(typo, ({ at, wrong }) => {
        const token = createToken()
        const mistyped = `${token.slice(0, at)}${wrong}${token.slice(at + 1)}`
        expect(isMistyped(mistyped)).toBe(mistyped !== token)
      }),
      { numRuns: 1000 },
    )
  })

  test('is mistyped with two neighboring characters swapped', () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 33 }), (at) => {
        const token = createToken()
        const exchanged = `${token.slice(0, at)}${token[at + 1]}${token[at]}${token.slice(at + 2)}`
        expect(isMistyped(exchanged)).toBe(exchanged !== token)
      }),
      { numRuns: 1000 },
    )
  })

  test('is mistyped if it is cut or extended', () => {
    const token = createToken()
    for (const text of ['wh_', token.slice(0, -1), `${token}0`, `${token}\n`, 'wh_chosen by the operator']) {
      expect(isMistyped(text), JSON.stringify(text)).toBe(true)
    }
  })

  test('is not one of ours without the prefix', () => {
    const token = createToken()
    for (const text of ['', token.slice(3), ` ${token}`, token.replace('wh_', 'WH_'), 'any other text']) {
      expect(isMistyped(text), JSON.stringify(text)).toBe(false)
    }
  })

  test('has a stable, unique hash', () => {
    const token = createToken()
    expect(hashToken(token)).toHaveLength(32)
    expect(hashToken(token).equals(hashToken(token))).toBe(true)
    expect(hashToken(token).equals(hashToken(createToken()))).toBe(false)
  })
})

/** Loads and saves the token as a successful start does. */
function kept(dataDir: string) {
  const loaded = loadAdminToken(dataDir, undefined)
  loaded.keep()
  return loaded
}

describe('the admin token', () => {
  test('is created at the first start, in a file that only its owner can read', () => {
    const dataDir = newDataDirectory()
    const { token, made, keep } = loadAdminToken(dataDir, undefined)
    expect(made).toBe(true)
    expect(isMistyped(token)).toBe(false)
    expect(existsSync(join(dataDir, 'admin-token'))).toBe(false)
    keep()
    expect(readFileSync(join(dataDir, 'admin-token'), 'utf8')).toBe(`${token}\n`)
    expect(modeOf(join(dataDir, 'admin-token'))).toBe(0o600)
  })

  test('is the same at the second start and not shown again', () => {
    const dataDir = newDataDirectory()
    const { token } = kept(dataDir)
    expect(loadAdminToken(dataDir, undefined)).toMatchObject({ token, made: false })
  })

  test('is the configured one, which is not saved', () => {
    const dataDir = newDataDirectory()
    const configured = 'chosen by the operator'
    expect(loadAdminToken(dataDir, configured)).toMatchObject({ token: configured, made: false })
    expect(existsSync(join(dataDir, 'admin-token'))).toBe(false)
  })

  test('is the configured one even if another is saved; the saved one is used again later', () => {
    const dataDir = newDataDirectory()
    const { token } = kept(dataDir)
    expect(loadAdminToken(dataDir, 'chosen by the operator').token).toBe('chosen by the operator')
    expect(loadAdminToken(dataDir, undefined).token).toBe(token)
  })

  test('can be any text in the file, surrounded by whitespace', () => {
    const dataDir = newDataDirectory()
    kept(dataDir)
    writeFileSync(join(dataDir, 'admin-token'), '\n  written-by-the-operator \n\n')
    expect(loadAdminToken(dataDir, undefined)).toMatchObject({
      token: 'written-by-the-operator',
      made: false,
    })
  })

  test('is created again if the file is too short', () => {
    const dataDir = newDataDirectory()
    const first = kept(dataDir)
    writeFileSync(join(dataDir, 'admin-token'), first.token.slice(0, 10))
    const second = kept(dataDir)
    expect(second.made).toBe(true)
    expect(second.token).not.toBe(first.token)
    expect(loadAdminToken(dataDir, undefined)).toMatchObject({ token: second.token, made: false })
  })

  test('is not replaced if its file cannot be read', () => {
    const dataDir = newDataDirectory()
    // A directory stands for a file that cannot be read: the superuser may read any file.
    mkdirSync(join(dataDir, 'admin-token'), { recursive: true })
    expect(() => loadAdminToken(dataDir, undefined)).toThrow(/EISDIR/)
  })
})

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { checkSync } from 'recheck'
import ts from 'typescript-for-openapi'
import { beforeAll, expect, test } from 'vitest'
import { longForms } from './support/engines.ts'

interface Pattern {
  source: string
  flags: string
  file: string
}

/** Every regular expression of the service and the console; those that are created from text have no source. */
function patternsOf(file: string): Pattern[] {
  const found: Pattern[] = []
  const kind = file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      found.push({ source: node.text.slice(1, end), flags: node.text.slice(end + 1), file })
    } else if (ts.isIdentifier(node) && node.text === 'RegExp' && isUsed(node)) {
      found.push({ source: '', flags: '', file })
    }
    ts.forEachChild(node, visit)
  }
  const isUsed = ({ parent }: ts.Node) =>
    (ts.isNewExpression(parent) || ts.isCallExpression(parent)) && ts.isIdentifier(parent.expression)
  visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true, kind))
  return found
}

const loop = '\x01'
const loopsIn = (text: string) => text.split(loop).length - 1

/**
 * Whether a pattern is linear by its form, which is quicker than the checker: each of its alternatives has at most one
 * unbounded quantifier, of a single character, and begins at a fixed position or ends with the quantifier.
 */
function isLinearByForm({ source, flags }: Pattern): boolean {
  // Classes and escapes stand for one character. Backreferences are left to the checker.
  const plain = source.replace(/\\[pP]\{[^}]*\}|\\[^1-9k]|\[(?:\\.|[^\]\\])*\]/g, 'x')
  if (plain.includes('\\') || plain.split(/\{\d+,\d+\}/).length > 4) return false
  let text = plain.replace(/([^)])(?:[*+]|\{\d+,\})\??/g, loop)
  while (text.includes('(')) {
    text = text.replace(
      /\((\?<?[=!])?(?:\?:|\?<\w+>)?([^()]*)\)([*+?]|\{[\d,]+\})?\??/g,
      (_, around: string | undefined, inner: string, quantifier) => {
        if (quantifier !== undefined && quantifier !== '?') return loop + loop
        const parts = inner.split('|')
        const most = Math.max(...parts.map(loopsIn))
        if (around !== undefined) return most === 0 ? 'x' : loop + loop
        if (most === 0) return quantifier === '?' ? '' : 'x'
        const isLast = parts.every((part) => loopsIn(part) === 0 || part.endsWith(loop))
        return loop.repeat(most) + (isLast ? '' : 'x')
      },
    )
  }
  return text.split('|').every((part) => {
    const isFixed = flags.includes('y') || (part.startsWith('^') && !flags.includes('m'))
    return loopsIn(part) === 0 || (loopsIn(part) === 1 && (isFixed || part.endsWith(loop)))
  })
}

const pieces = /\\.|\[(?:\\.|[^\]\\])*\]|[\s\S]/g

/** Alternatives of a pattern outside of groups; undefined if a group is closed that was not opened. */
function split(source: string): string[] | undefined {
  const parts = ['']
  let depth = 0
  for (const [piece] of source.matchAll(pieces)) {
    depth += piece === '(' ? 1 : piece === ')' ? -1 : 0
    if (depth < 0) return undefined
    if (piece === '|' && depth === 0) parts.push('')
    else parts[parts.length - 1] += piece
  }
  return parts
}

/** A pattern takes at most the time of its alternatives together, and the checker is much quicker with each of them. */
function alternativesOf(source: string): string[] {
  // The numbers of groups change.
  if (/\\[1-9k]/.test(source)) return [source]
  return (split(source) ?? [source]).flatMap((part) => {
    const inner = /^\^\(\?:([\s\S]*)\)$/.exec(part)?.[1]
    return (inner === undefined ? undefined : split(inner)?.map((each) => `^${each}`)) ?? [part]
  })
}

/** A bounded repetition tries no more than an unbounded one, and the checker is much quicker without large bounds. */
const unbounded = (source: string) => source.replace(/\{(\d+),\d{2,}\}/g, '{$1,}')

function isSafe({ source, flags }: Pattern): boolean {
  const isFound = (text: string) => checkSync(text, flags, { timeout: null }).status === 'safe'
  const isSafeAlone = (part: string) => isFound(unbounded(part)) || isFound(part)
  return alternativesOf(source).every(isSafeAlone) || isFound(source)
}

const textOf = ({ source, flags }: Pattern) => `/${source}/${flags}`

/** Without its optional binary, the checker takes four times as long. */
beforeAll(() => {
  process.env.RECHECK_BACKEND = existsSync('node_modules/recheck-linux-x64') ? 'native' : 'pure'
})

/**
 * The checker takes a second for some patterns. Those that it has found safe are listed in a file, one a line; only the
 * long form checks them again.
 */
test('the time of every regular expression is linear in the length of the text', () => {
  const files = ['src', 'console/src'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  )
  const code = files.filter((file) => /(?<!\.test)\.tsx?$/.test(file))
  const patterns = new Map(code.flatMap(patternsOf).map((one) => [one.source ? textOf(one) : one.file, one]))
  expect(patterns.size).toBeGreaterThan(300)
  const unclear = [...patterns.values()].filter((pattern) => !isLinearByForm(pattern))
  const checked = new Set(readFileSync('test/checked-patterns.txt', 'utf8').trimEnd().split('\n'))
  const slow = unclear.filter((pattern) => (longForms || !checked.has(textOf(pattern))) && !isSafe(pattern))
  expect(slow).toEqual([])
  expect([...checked].sort(), 'lines of test/checked-patterns.txt').toEqual(unclear.map(textOf).sort())
})

test.each([
  [String.raw`^[+-]?(?:\d+\.?\d*|\.\d+)$`, ''],
  [String.raw`\s+$`, ''],
  ['^(?:a|a)*$', ''],
  [String.raw`x(\w+y)`, ''],
  [String.raw`^\s+x`, 'm'],
  [String.raw`"(?:[^"\\]|\\.)*"`, 'g'],
  ['a|^(?:b|(?:c|c)*$)', ''],
  ['^(?:a{1,50})+$', ''],
])('finds that /%s/%s is not', (source, flags) => {
  const pattern = { source, flags, file: '' }
  expect(isLinearByForm(pattern) || isSafe(pattern)).toBe(false)
})

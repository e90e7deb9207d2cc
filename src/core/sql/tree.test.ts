import { expect, test } from 'vitest'
import { readTree } from './tree.ts'

test('readTree reads names, aliases and structure', () => {
  const [root, list, count, star, none] = readTree(
    [
      'SelectWithUnionQuery (children 2)',
      ' ExpressionList (children 2)',
      '  Function count (alias n) (children 1)',
      '   Asterisk',
      "  Literal \\'a (alias b)\\' (alias c)",
      ' Identifier TabSeparatedRaw',
      '',
    ].join('\n'),
  )
  expect(root?.children).toEqual([list])
  expect(list).toMatchObject({ depth: 1, kind: 'ExpressionList', name: '', alias: undefined, parent: root })
  expect(count).toMatchObject({ kind: 'Function', name: 'count', alias: 'n', children: [star] })
  expect(none).toMatchObject({ kind: 'Literal', name: "\\'a (alias b)\\'", alias: 'c', parent: list })
})

test.each([
  ["Literal \\'a (alias b)\\'", "\\'a (alias b)\\'", undefined],
  ['Identifier a.b.c', 'a.b.c', undefined],
  ['TableIdentifier t (alias a b)', 't', 'a b'],
  ['Subquery (alias s) (children 1)', '', 's'],
  ['ExpressionList', '', undefined],
])('%s', (line, name, alias) => expect(readTree(line)[0]).toMatchObject({ name, alias }))

import { expect, test } from 'vitest'
import { readProjectsFile } from './projects-file.ts'

function read(content: string): object {
  const reading = readProjectsFile(content)
  if ('problems' in reading) {
    return reading.problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
  }
  return Object.fromEntries(reading.plans)
}

test('names that YAML reads as they are written need no quotes', () => {
  expect(read('12: pro\n"007": pro\ntrue: free\nyes: free\n2026-11-19: free\na b: default\n')).toEqual({
    '12': 'pro',
    '007': 'pro',
    true: 'free',
    yes: 'free',
    '2026-11-19': 'free',
    'a b': 'default',
  })
  expect(read('# nobody yet\n')).toEqual({})
})

test('names that YAML reads as others are problems, since another project would get the plan', () => {
  expect(read('acme: pro\n007: pro\n0x10: pro\n1e3: pro\nTrue: pro\n~: pro\n')).toEqual([
    '2:1 The project 007 would be read as 7: put 007 in quotes.',
    '3:1 The project 0x10 would be read as 16: put 0x10 in quotes.',
    '4:1 The project 1e3 would be read as 1000: put 1e3 in quotes.',
    '5:1 The project True would be read as true: put True in quotes.',
    '6:1 The project ~ would be read as null: put ~ in quotes.',
  ])
  expect(read(`acme: pro\n"": pro\n? [a, b]\n: pro\n${'x'.repeat(300)}: pro\n`)).toEqual([
    '2:1 The name of a project must not be empty.',
    '1:1 The name of a project must be text.',
    '5:1 The name of a project must be at most 256 characters long.',
  ])
})

test('what is no name of a plan is a problem', () => {
  expect(read('acme:\n')).toEqual(['1:1 acme must be the name of a plan, such as pro.'])
  expect(read('acme: 3\nacme: pro\n')).toEqual([
    '2:1 The file cannot be read as YAML: Map keys must be unique.',
  ])
  expect(read('- acme\n')).toEqual(['1:1 The file must be a list of fields, such as "acme: pro".'])
})

import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { confirm } from './command-io.ts'

const warning = 'It will be deleted.'

test.each([
  ['y\n', true],
  ['Yes\n', true],
  ['n\n', false],
  ['\n', false],
  ['yesterday\n', false],
])('the answer %j confirms: %j', async (input, confirmed) => {
  const result = confirm(memoryIo({ input, stdinIsTerminal: true }), warning, undefined)
  if (confirmed) await result
  else await expect(result).rejects.toThrow('Nothing was changed.')
})

test('the end of the input does not confirm', async () => {
  const stdin = new PassThrough()
  const io = memoryIo({ stdin, stdinIsTerminal: true })
  const result = confirm(io, warning, undefined)
  stdin.end()
  await expect(result).rejects.toThrow('Nothing was changed.')
  expect(io.stderr.text()).toContain('It will be deleted. Continue? [y/N]')
})

test('a script needs --yes, and is not asked with it', async () => {
  await expect(confirm(memoryIo(), warning, undefined)).rejects.toThrow('Confirm with --yes.')
  const io = memoryIo()
  await confirm(io, warning, true)
  expect(io.stderr.text()).toBe('')
})

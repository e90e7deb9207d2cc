import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { memoryIo } from '../../test/support/memory-io.ts'
import { confirm } from './confirm.ts'

const question = 'Delete it?'

test.each([
  ['y\n', true],
  ['Yes\n', true],
  ['n\n', false],
  ['\n', false],
  ['yesterday\n', false],
])('%j is taken as %j', async (input, meant) => {
  const asked = confirm(memoryIo({ input, stdinIsTerminal: true }), question, undefined)
  if (meant) await asked
  else await expect(asked).rejects.toThrow('Nothing was changed.')
})

test('an input that ends without an answer says no', async () => {
  const stdin = new PassThrough()
  const io = memoryIo({ stdin, stdinIsTerminal: true })
  const asked = confirm(io, question, undefined)
  stdin.end()
  await expect(asked).rejects.toThrow('Nothing was changed.')
  expect(io.stderr.text()).toContain('Delete it? [y/N]')
})

test('a script has to say so, and is not asked then', async () => {
  await expect(confirm(memoryIo(), question, undefined)).rejects.toThrow('Say so with --yes.')
  const io = memoryIo()
  await confirm(io, question, true)
  expect(io.stderr.text()).toBe('')
})

import { Readable } from 'node:stream'
import { type CommandIo, type CommandOutput, colorsFor } from '../../src/cli/kit/command-io.ts'
import { manualClock } from './manual-clock.ts'

export interface MemoryOutput extends CommandOutput {
  text(): string
}

export interface MemoryIo extends CommandIo {
  stdout: MemoryOutput
  stderr: MemoryOutput
}

export function memoryOutput(choices: { isTerminal?: boolean; columns?: number } = {}): MemoryOutput {
  const { isTerminal = false, columns = 80 } = choices
  const chunks: Buffer[] = []
  return {
    write: async (data) => void chunks.push(Buffer.from(data)),
    isTerminal,
    columns,
    colors: colorsFor(false, {}),
    text: () => Buffer.concat(chunks).toString(),
  }
}

/** Input and output of a command in memory. */
export function memoryIo(choices: Partial<CommandIo> & { input?: string | Buffer } = {}): MemoryIo {
  const { input = '', ...rest } = choices
  return {
    stdin: Readable.from([Buffer.from(input)]),
    stdinIsTerminal: false,
    environment: {},
    cwd: '/',
    signal: new AbortController().signal,
    clock: manualClock(),
    pid: 1,
    isAlive: () => true,
    node: 'node',
    nodeVersion: 'v20.19.0',
    ...rest,
    stdout: (choices.stdout as MemoryOutput) ?? memoryOutput(),
    stderr: (choices.stderr as MemoryOutput) ?? memoryOutput(),
  }
}

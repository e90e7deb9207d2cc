import type { CommandIo } from '../command-io.ts'
import { visible } from '../output/format.ts'

export interface Finding {
  name: string
  status: 'ok' | 'warning' | 'problem'
  message: string
  advice?: string
}

export function ok(name: string, message: string): Finding {
  return { name, status: 'ok', message }
}

const findingOf =
  (status: Finding['status']) =>
  (name: string, message: string, advice: string): Finding => ({ name, status, message, advice })

export const warning = findingOf('warning')
export const problem = findingOf('problem')

export async function printFindings({ stdout }: CommandIo, findings: readonly Finding[]): Promise<void> {
  const color = { ok: stdout.colors.green, warning: stdout.colors.yellow, problem: stdout.colors.red }
  const width = Math.max(...findings.map(({ name }) => name.length))
  for (const { name, status, message, advice } of findings) {
    await stdout.write(`${color[status](status.padEnd(7))}  ${name.padEnd(width)}  ${visible(message)}\n`)
    if (advice) await stdout.write(`${' '.repeat(11 + width)}${visible(advice)}\n`)
  }
}

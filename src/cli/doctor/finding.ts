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

export function warning(name: string, message: string, advice: string): Finding {
  return { name, status: 'warning', message, advice }
}

export function problem(name: string, message: string, advice: string): Finding {
  return { name, status: 'problem', message, advice }
}

export async function printFindings({ stdout }: CommandIo, findings: readonly Finding[]): Promise<void> {
  const color = { ok: stdout.colors.green, warning: stdout.colors.yellow, problem: stdout.colors.red }
  const width = Math.max(...findings.map(({ name }) => name.length))
  for (const { name, status, message, advice } of findings) {
    await stdout.write(`${color[status](status.padEnd(7))}  ${name.padEnd(width)}  ${visible(message)}\n`)
    if (advice) await stdout.write(`${' '.repeat(11 + width)}${visible(advice)}\n`)
  }
}

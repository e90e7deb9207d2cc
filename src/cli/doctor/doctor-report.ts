import type { CommandIo, CommandOutput } from '../command-io.ts'
import { printJson } from '../output/print.ts'
import { visible } from '../output/text-width.ts'

export type FindingStatus = 'ok' | 'warning' | 'problem'

/** What was looked at, and how it is. */
export interface Finding {
  name: string
  status: FindingStatus
  message: string
  /** What to do, where something is to do. */
  advice?: string
}

export const ok = (name: string, message: string): Finding => ({ name, status: 'ok', message })
export const warning = (name: string, message: string, advice: string): Finding => ({
  name,
  status: 'warning',
  message,
  advice,
})
export const problem = (name: string, message: string, advice: string): Finding => ({
  name,
  status: 'problem',
  message,
  advice,
})

export function hasProblem(findings: readonly Finding[]): boolean {
  return findings.some(({ status }) => status === 'problem')
}

export async function printFindings(
  io: CommandIo,
  findings: readonly Finding[],
  json: boolean,
): Promise<void> {
  if (json) return printJson(io, { ok: !hasProblem(findings), checks: findings })
  const width = Math.max(...findings.map(({ name }) => name.length))
  for (const { name, status, message, advice } of findings) {
    await io.stdout.write(`${badge(status, io.stdout)}  ${name.padEnd(width)}  ${visible(message)}\n`)
    if (advice) await io.stdout.write(`${' '.repeat(11 + width)}${visible(advice)}\n`)
  }
}

function badge(status: FindingStatus, { colors }: CommandOutput): string {
  const text = status.padEnd(7)
  switch (status) {
    case 'ok':
      return colors.green(text)
    case 'warning':
      return colors.yellow(text)
    case 'problem':
      return colors.red(text)
  }
}

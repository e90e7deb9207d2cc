const bad = /^(?:err|error|fatal|crit|critical|alert|emerg|emergency|panic|severe)$/i
const warn = /^(?:warn|warning)$/i
const good = /^(?:info|information|log|notice|ok)$/i
const quiet = /^(?:debug\d?|trace|verbose)$/i
/** The numeric levels of pino and bunyan. */
const numbered: Record<string, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

/** The name of a level, which some libraries write as a number. */
export function levelName(text: string): string {
  return Object.hasOwn(numbered, text) ? (numbered[text] as string) : text.toLowerCase()
}

/** Undefined where the text is not a known level. */
export function levelTone(text: string): 'bad' | 'warn' | 'good' | 'other' | undefined {
  if (bad.test(text)) return 'bad'
  if (warn.test(text)) return 'warn'
  if (good.test(text)) return 'good'
  return quiet.test(text) ? 'other' : undefined
}

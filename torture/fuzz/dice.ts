/** Random choices that depend only on the seed. */
export interface Dice {
  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number
  /** True with this probability in percent. */
  percent(chance: number): boolean
  pick<T>(from: readonly T[]): T
}

export function diceOf(random: () => number): Dice {
  const below = (limit: number) => Math.floor(random() * limit)
  return {
    below,
    percent: (chance) => random() * 100 < chance,
    pick: <T>(from: readonly T[]) => from[below(from.length)] as T,
  }
}

/** Texts that break careless code. */
export const nastyTexts: readonly string[] = [
  ...[
    '',
    ' ',
    '\0',
    '\n',
    '\r\n',
    '\t',
    "'",
    '"',
    '\\',
    '`',
    '%',
    '%00',
    '%zz',
    '%c3%28',
    '+',
    '&',
    '=',
    '#',
  ],
  ...['..', '../../etc/passwd', '/', '//', '.', '*', '?', ';', '|', '$(id)', '{{7*7}}', '<script>', '#{x}'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'null', 'undefined', 'true', 'false', '[]', '{}'],
  ...[
    '0',
    '-0',
    '-1',
    '1.5',
    '1e309',
    '-1e309',
    'NaN',
    'Infinity',
    '9007199254740993',
    '18446744073709551616',
  ],
  ...['2026-02-30T00:00:00Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999Z', '2026-01-01T00:00'],
  ...['é', 'ü\u0308', '😀', '\u202e', '\ufeff', '\ud800', '\udc00x', '\u0000\u0001\u001f', '字', '𝔘'],
  ...[
    "' OR 1=1 --",
    "'); DROP TABLE edge_logs; --",
    '{x:String}',
    '@now',
    '@a',
    '(x+x+)+y',
    '[',
    '(',
    '(?<a',
  ],
  ...[
    'edge_logs',
    '_catalog',
    'system.one',
    'logs.all',
    'wellhead.endpoint_stats',
    'now',
    'project',
    '_format',
  ],
  'x'.repeat(600),
  'ü'.repeat(3000),
]

export const nastyValues: readonly unknown[] = [
  ...[null, true, false, 0, -0, -1, 1.5, 1e308, -1e308, 2 ** 53, 2 ** 63, 2 ** 64, 1e-320, 10_001, 3601],
  ...[[], {}, [[]], [null], [{}], { a: null }, { '': '' }, { __proto__x: 1 }, ['a', 'a'], [1, 'a', true]],
  JSON.parse('{"__proto__":{"isAdmin":true}}'),
  JSON.parse('{"constructor":{"prototype":{"x":1}}}'),
]

export function nastyValue(dice: Dice): unknown {
  return dice.percent(60) ? dice.pick(nastyTexts) : dice.pick(nastyValues)
}

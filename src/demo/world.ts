import type { Random } from './random.ts'

export interface DemoProject {
  ref: string
  /** Share of all traffic. */
  share: number
  /** How much quieter its nights are, from 0 to 1. */
  rhythm: number
  /** UTC offset of its users, in hours. */
  utcOffset: number
  tables: readonly string[]
  functions: readonly { name: string; weight: number; medianMs: number; errorRate: number }[]
}

/** From a busy project with users everywhere to a quiet one with users in one place. */
export const projects: readonly DemoProject[] = [
  {
    ref: 'acmeshopprodabcdefgh',
    share: 0.68,
    rhythm: 0.3,
    utcOffset: -2,
    tables: ['orders', 'customers', 'products', 'carts', 'reviews'],
    functions: [
      { name: 'checkout', weight: 5, medianMs: 180, errorRate: 0.03 },
      { name: 'thumbnail', weight: 3, medianMs: 420, errorRate: 0.01 },
      { name: 'send-receipt', weight: 2, medianMs: 260, errorRate: 0.02 },
      { name: 'stripe-webhook', weight: 1, medianMs: 95, errorRate: 0.08 },
    ],
  },
  {
    ref: 'bluebirdnotesqwertyu',
    share: 0.24,
    rhythm: 0.7,
    utcOffset: 1,
    tables: ['notes', 'notebooks', 'tags'],
    functions: [
      { name: 'summarise', weight: 3, medianMs: 1_900, errorRate: 0.05 },
      { name: 'export-pdf', weight: 1, medianMs: 850, errorRate: 0.02 },
    ],
  },
  {
    ref: 'cityguideprojectzxcv',
    share: 0.08,
    rhythm: 0.8,
    utcOffset: 9,
    tables: ['places', 'tours'],
    functions: [{ name: 'nearby', weight: 1, medianMs: 60, errorRate: 0.01 }],
  },
]

export const userAgents: readonly (readonly [string, number])[] = [
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
    30,
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
    24,
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0', 20],
  ['Dart/3.9 (dart:io)', 8],
  ['node', 15],
  ['curl/8.15.0', 3],
]

export const regions = (
  [
    [34, 'us-east-1', 'US', 'Ashburn', 'IAD', 'America/New_York', 'NA', 7922, 'Comcast Cable Communications'],
    [30, 'eu-central-1', 'DE', 'Frankfurt', 'FRA', 'Europe/Berlin', 'EU', 3320, 'Deutsche Telekom AG'],
    [12, 'sa-east-1', 'BR', 'São Paulo', 'GRU', 'America/Sao_Paulo', 'SA', 26599, 'TELEFÔNICA BRASIL S.A'],
    [14, 'ap-south-1', 'IN', 'Mumbai', 'BOM', 'Asia/Kolkata', 'AS', 55836, 'Reliance Jio Infocomm Limited'],
    [10, 'ap-northeast-1', 'JP', 'Tokyo', 'NRT', 'Asia/Tokyo', 'AS', 4713, 'NTT DOCOMO BUSINESS'],
  ] as const
).map(
  ([weight, region, country, city, colo, timezone, continent, asn, asOrganization]) =>
    [{ region, country, city, colo, timezone, continent, asn, asOrganization }, weight] as const,
)

/** An address of the ranges reserved for documentation. */
export function addressOf(random: Random): string {
  if (random.chance(0.4)) return `2001:db8:${random.hex(4)}:${random.hex(2)}::1`
  return `${random.pick(['192.0.2', '198.51.100', '203.0.113'])}.${random.whole(1, 254)}`
}

/** Now and then there is an hour of failures. */
export function troubleIn(hour: number): boolean {
  return (Math.imul(hour, 2_654_435_761) >>> 0) % 61 === 0
}

export interface Moment {
  project: DemoProject
  random: Random
  trouble: boolean
}

export type EntryMaker = (moment: Moment) => [message: string, metadata: object]

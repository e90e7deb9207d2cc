/**
 * Log lines of the shape of "Quickwit vs Loki" (quickwit-oss/benchmarks): generated lines of Filebeat from CloudWatch.
 * The same seed gives the same lines, whichever part of them is made. They have 841 bytes on average, the published ones 872.
 */
import { randomOf, uuidOf } from '../../build/features/demo/random.js'

/** A word of 0.8 % of the messages, as in the published queries. */
export const wantedWord = 'queen'

/** Lines that share a generator of random numbers, so that any part can be made alone. */
const blockLines = 1_000
const wordCount = 920
const hostCount = 1_000
/** Log streams of a host. */
const hostStreams = 5
const wordsInMessage = 7
/** Of ten words in messages, one is made of two, as most names are. */
const compoundChance = 0.1

export const levels = ['info', 'warn', 'error', 'debug']

export const regions = [
  ...['us-east-1', 'us-east-2', 'us-west-1', 'us-west-2', 'ca-central-1', 'sa-east-1', 'af-south-1'],
  ...['ap-east-1', 'ap-south-1', 'ap-south-2', 'ap-southeast-1', 'ap-southeast-2', 'ap-southeast-3'],
  ...['ap-northeast-1', 'ap-northeast-2', 'ap-northeast-3', 'eu-central-1', 'eu-central-2', 'eu-west-1'],
  ...['eu-west-2', 'eu-west-3', 'eu-north-1', 'eu-south-1', 'eu-south-2', 'me-south-1'],
]

const processes = ['systemd', 'sshd', 'cron', 'kernel', 'dhclient', 'ntpd', 'rsyslogd', 'auditd']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The words of all lines. They do not depend on the seed of the lines. */
const words = vocabulary(randomOf('published words'))

function vocabulary(random) {
  const starts = [
    'b',
    'br',
    'c',
    'cl',
    'd',
    'f',
    'fl',
    'g',
    'gr',
    'h',
    'l',
    'm',
    'n',
    'p',
    'r',
    's',
    'st',
    't',
    'w',
  ]
  const vowels = ['a', 'e', 'i', 'o', 'u', 'ea', 'oo']
  const ends = ['ck', 'd', 'l', 'll', 'm', 'n', 'nd', 'nt', 'r', 'rn', 'sk', 'st', 't', 'x']
  const made = new Set([wantedWord])
  while (made.size < wordCount) {
    const syllables = random.whole(1, 2)
    let word = ''
    for (let left = syllables; left > 0; left--) {
      word += random.pick(starts) + random.pick(vowels) + random.pick(ends)
    }
    if (word.length >= 4) made.add(word)
  }
  return [...made]
}

const twoOf = (random, parts) => random.pick(parts) + random.pick(parts)

/** Names do not have the wanted word: it is one of messages. */
const nameParts = words.filter((word) => word !== wantedWord)
const nameOf = (random) => twoOf(random, nameParts)

const hosts = (() => {
  const random = randomOf('published hosts')
  return Array.from({ length: hostCount }, () => ({
    name: nameOf(random),
    agent: uuidOf(random),
    streams: Array.from({ length: hostStreams }, () => nameOf(random)),
  }))
})()

/** The time between two lines. */
const defaultStepMicros = 1_000

/** Lines `from` to `from + count` of a seed as entries of Wellhead. The first of all lines has the time `startMs`. */
export function* publishedEntries({ seed, from = 0, count, startMs, stepMicros = defaultStepMicros }) {
  let random
  for (let number = from - (from % blockLines); number < from + count; number++) {
    if (number % blockLines === 0) random = randomOf('published', seed, number)
    const entry = entryOf(random, startMs * 1000 + number * stepMicros)
    if (number >= from) yield entry
  }
}

function entryOf(random, micros) {
  const time = new Date(Math.floor(micros / 1000)).toISOString()
  const host = random.pick(hosts)
  const stream = random.pick(host.streams)
  const process = random.pick(processes)
  const address = Array.from({ length: 4 }, () => random.whole(1, 254))
  const said = Array.from({ length: wordsInMessage }, () =>
    random.chance(compoundChance) ? twoOf(random, words) : random.pick(words),
  )
  const clock = `${months[Number(time.slice(5, 7)) - 1]} ${time.slice(8, 10)} ${time.slice(11, 19)}`
  return {
    timestamp: `${time.slice(0, 23)}${String(micros % 1000).padStart(3, '0')}Z`,
    event_message: `${time} ${clock} ip-${address.join('-')} ${process}: ${said.join(' ')}`,
    metadata: {
      agent: {
        ephemeral_id: host.agent,
        id: host.agent,
        name: host.name,
        type: 'filebeat',
        version: '8.8.0',
      },
      'aws.cloudwatch': { ingestion_time: time, log_stream: stream },
      cloud: { region: random.pick(regions), provider: 'aws' },
      event: { dataset: 'generic', id: nameOf(random) },
      host: { name: host.name },
      input: { type: 'aws-cloudwatch' },
      level: random.pick(levels),
      'log.file.path': `/var/log/messages/${stream}`,
      metrics: { size: random.whole(0, 10_000), tmin: random.whole(0, 100_000) },
      process: { name: process },
      tags: ['preserve_original_event'],
      trace_id: random.hex(32),
    },
  }
}

/** The typed columns that the queries count by. */
export const publishedColumns = [
  { name: 'level', path: 'level', type: 'text' },
  { name: 'region', path: 'cloud.region', type: 'text' },
]

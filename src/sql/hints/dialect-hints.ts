/**
 * What to write here instead of SQL of Postgres, BigQuery, MySQL, Snowflake, SQL Server and Tinybird. Each list has only
 * what the engine refuses. SQL in backticks is tested with the engine, where x is a number, s is text and a is an array.
 */
type DialectHint = readonly [
  /** In lower case, with spaces between. */
  names: string,
  hint: string,
]

/** Functions that do not exist. */
const functions: readonly DialectHint[] = [
  // Aggregates
  [
    'percentile_cont percentile_disc percentile percentile_approx approx_percentile approx_quantiles quantile_cont',
    'Write `quantile(0.95)(x)`.',
  ],
  ['mode', 'Write `topK(1)(s)[1]`.'],
  ['countif count_if', "Write `countIf(s = 'a')`."],
  ['approx_count_distinct approx_distinct count_distinct hll', 'Write `uniq(s)`.'],
  ['hll_count.init hll_count.merge hll_count.extract', 'Write `uniq(s)`.'],
  ['listagg', "Write `groupConcat(',')(s)`."],
  ['json_agg jsonb_agg json_arrayagg json_group_array', 'Write `toJSONString(groupArray(s))`.'],
  [
    'json_object_agg jsonb_object_agg json_objectagg object_agg',
    'Write `toJSONString(mapFromArrays(groupArray(s), groupArray(x)))`.',
  ],
  ['collect_list', 'Write `groupArray(s)`.'],
  ['collect_set', 'Write `groupUniqArray(s)`.'],
  ['bool_or logical_or boolor_agg', "Write `max(s = 'a')`."],
  ['bool_and logical_and booland_agg every', "Write `min(s = 'a')`."],
  ['variance var', 'Write `varSamp(x)`.'],
  ['first', 'Write `argMin(s, timestamp)` for the earliest.'],
  ['last latest', 'Write `argMax(s, timestamp)` for the latest.'],
  // Time
  [
    'to_char format_timestamp format_date format_datetime strftime',
    "Write `formatDateTime(timestamp, '%Y-%m-%d %H:%i:%S')`.",
  ],
  [
    'to_timestamp to_timestamp_tz to_timestamp_ntz try_to_timestamp parse_timestamp parse_datetime strptime',
    'Write `parseDateTimeBestEffort(s)` for text, or `toDateTime(x)` for seconds.',
  ],
  ['to_date try_to_date parse_date', 'Write `toDate(s)`.'],
  ['timestamp_trunc datetime_trunc', "Write `date_trunc('hour', timestamp)`."],
  ['time_slice', 'Write `toStartOfInterval(timestamp, INTERVAL 5 MINUTE)`.'],
  ['datepart', "Write `date_part('hour', timestamp)`."],
  [
    'clock_timestamp statement_timestamp transaction_timestamp getdate getutcdate sysdate systimestamp current_datetime',
    'Write `@now`.',
  ],
  ['ago', 'Write `@now - INTERVAL 1 HOUR`.'],
  ['unix_timestamp unix_seconds', 'Write `toUnixTimestamp(timestamp)`.'],
  ['unix_millis', 'Write `toUnixTimestamp64Milli(timestamp)`.'],
  ['unix_micros', 'Write `toUnixTimestamp64Micro(timestamp)`.'],
  ['timestamp_seconds', 'Write `toDateTime(x)`.'],
  ['timestamp_millis epoch_ms', 'Write `fromUnixTimestamp64Milli(toInt64(x))`.'],
  ['timestamp_micros', 'Write `fromUnixTimestamp64Micro(toInt64(x))`.'],
  ['convert_timezone convert_tz datetime', "Write `toTimezone(timestamp, 'Europe/Berlin')`."],
  ['dayname', "Write `dateName('weekday', timestamp)`."],
  [
    'datetime_diff time_diff months_between',
    "Write `dateDiff('second', timestamp, @now)`, the earlier time first.",
  ],
  ['datetime_add add_months', 'Write `timestamp + INTERVAL 1 DAY`.'],
  ['datetime_sub', 'Write `timestamp - INTERVAL 1 DAY`.'],
  [
    'make_interval justify_hours justify_days justify_interval',
    'Write an interval such as `INTERVAL 1 DAY`.',
  ],
  ['make_timestamp make_timestamptz timestamp_from_parts', 'Write `makeDateTime(2026, 1, 31, 12, 0, 0)`.'],
  ['date_from_parts', 'Write `makeDate(2026, 1, 31)`.'],
  ['sec_to_time', 'Write `formatReadableTimeDelta(x)`.'],
  // Text
  ['split_part', "Write `splitByString('-', s)[1]`."],
  ['split string_to_array', "Write `splitByString('-', s)`."],
  ['string_to_table split_to_table', "Write `arrayJoin(splitByString('-', s))`."],
  ['regexp_match', "Write `extractGroups(s, '(a+)-(b+)')`."],
  ['regexp_contains regexp_like rlike', "Write `match(s, 'a+')`."],
  ['regexp_count', "Write `countMatches(s, 'a+')`."],
  ['regexp_extract_all', "Write `extractAll(s, 'a+')`."],
  ['regexp_split_to_array regexp_split', "Write `splitByRegexp('-+', s)`."],
  ['regexp_split_to_table', "Write `arrayJoin(splitByRegexp('-+', s))`."],
  ['strpos charindex', "Write `position(s, 'a')`."],
  ['contains', "Write `position(s, 'a') > 0`."],
  ['contains_substr', "Write `positionCaseInsensitive(s, 'a') > 0`."],
  ['len strlen', 'Write `length(s)`.'],
  ['toint to_int int', 'Write `toInt64OrNull(s)`.'],
  ['btrim', 'Write `trim(s)`.'],
  ['chr', 'Write `char(65)`.'],
  ['to_hex', 'Write `lower(hex(s))`.'],
  ['md5', 'Write `lower(hex(MD5(s)))`.'],
  ['sha1', 'Write `lower(hex(SHA1(s)))`.'],
  ['sha256', 'Write `lower(hex(SHA256(s)))`.'],
  ['encode', 'Write `base64Encode(s)` or `hex(s)`.'],
  ['decode', "Write `transform(s, ['a', 'b'], [1, 2], 0)` to map values, or `base64Decode(s)`."],
  ['farm_fingerprint', 'Write `farmFingerprint64(s)`.'],
  ['host net.host', 'Write `domain(s)`.'],
  ['net.reg_domain', 'Write `cutToFirstSignificantSubdomain(s)`.'],
  // Conditions, numbers and types
  ['nvl isnull', "Write `ifNull(s, '')`."],
  ['nvl2', 'Write `if(s IS NULL, 2, 1)`.'],
  ['iff iif', "Write `if(s = 'a', 1, 2)`."],
  ['zeroifnull', 'Write `ifNull(x, 0)`.'],
  ['nullifzero', 'Write `nullIf(x, 0)`.'],
  ['safe_divide div0 try_divide', 'Write `divideOrNull(x, 10)`.'],
  ['div', 'Write `intDiv(x, 10)`.'],
  ['square', 'Write `pow(x, 2)`.'],
  ['safe_cast try_cast', "Write `accurateCastOrNull(s, 'Int64')`."],
  ['to_number to_numeric to_decimal try_to_number', 'Write `toFloat64OrNull(s)`.'],
  ['typeof pg_typeof', 'Write `toTypeName(x)`.'],
  ['random', 'Write `randCanonical()`.'],
  ['gen_random_uuid generate_uuid uuid_generate_v4 newid', 'Write `generateUUIDv4()`.'],
  // Arrays
  ['array_length array_size', 'Write `length(a)`.'],
  ['array_position', 'Write `indexOf(a, 1)`.'],
  ['array_append', 'Write `arrayPushBack(a, 1)`.'],
  ['array_prepend', 'Write `arrayPushFront(a, 1)`.'],
  ['array_cat', 'Write `arrayConcat(a, [1])`.'],
  ['array_contains list_contains', 'Write `has(a, 1)`.'],
  ['any some all', 'To search an array, write `has(a, 1)`. To search a list, write `x IN (1, 2)`.'],
  ['offset safe_offset', 'Write `a[1]`: the first element has the index 1, not 0.'],
  ['ordinal safe_ordinal element_at', 'Write `a[1]`.'],
  ['generate_array', 'Write `range(1, 11)`.'],
  [
    'generate_date_array generate_timestamp_array',
    'Write `arrayMap(n -> toStartOfHour(@now) - toIntervalHour(n), range(24))`.',
  ],
  ['struct row named_struct', 'Write `tuple(s, x)`.'],
  // JSON
  [
    'json_build_object jsonb_build_object json_object object_construct',
    "Write `toJSONString(map('key', s))`.",
  ],
  ['to_json to_jsonb to_json_string', 'Write `toJSONString(s)`.'],
  ['row_to_json', 'Write `toJSONString((s, x))`.'],
  [
    'jsonb_array_elements jsonb_array_elements_text json_array_elements json_array_elements_text json_extract_array json_query_array',
    "Write `arrayJoin(JSONExtractArrayRaw(metadata, 'items'))`.",
  ],
  ['jsonb_array_length', "Write `JSONLength(metadata, 'items')`."],
  ['jsonb_typeof json_typeof json_type', "Write `JSONType(metadata, 'x')`."],
  ['jsonb_object_keys json_object_keys json_keys object_keys', 'Write `JSONExtractKeys(metadata)`.'],
  ['jsonb_pretty', 'Write `prettyPrintJSON(metadata)`.'],
  ['parse_json json_parse', 'metadata is JSON already. Write `metadata.x::Nullable(String)`.'],
]

/** Functions that read a path from JSON. The hint shows the path that their arguments name. */
export const pathFunctions: ReadonlySet<string> = new Set([
  ...['json_extract_scalar', 'json_extract', 'json_extract_string', 'json_unquote', 'get_path', 'get'],
  ...['jsonb_extract_path', 'jsonb_extract_path_text', 'json_extract_path', 'json_extract_path_text'],
  ...['get_json_object', 'jsonb_path_query', 'jsonb_path_query_first', 'json_value_array'],
])

const arrayJoin =
  'For an object, write `metadata.x::Nullable(String)`. ' +
  'For an array, write `FROM edge_logs ARRAY JOIN metadata.items::Array(String) AS item`.'

/** Table functions that do not exist. */
const tableFunctions: readonly DialectHint[] = [
  ['unnest flatten table explode', arrayJoin],
  ['jsonb_array_elements jsonb_array_elements_text json_array_elements json_each jsonb_each', arrayJoin],
]

/** Names of types, each with the one that exists. */
export const types: Readonly<Record<string, string>> = {
  int2: 'Int16',
  int4: 'Int32',
  // Eight bytes, not eight bits.
  int8: 'Int64',
  serial: 'Int32',
  bigserial: 'Int64',
  float4: 'Float32',
  float8: 'Float64',
  number: 'Float64',
  bignumeric: 'Decimal(38, 9)',
  money: 'Decimal(18, 2)',
  nvarchar2: 'String',
  varchar2: 'String',
  bpchar: 'String',
  citext: 'String',
  bytes: 'String',
  bytea: 'String',
  inet: 'IPv4',
  timestamptz: "DateTime64(6, 'UTC')",
  timestamp_tz: "DateTime64(6, 'UTC')",
  timestamp_ntz: "DateTime64(6, 'UTC')",
  timestamp_ltz: "DateTime64(6, 'UTC')",
  datetime2: "DateTime64(6, 'UTC')",
  struct: 'Tuple(String, Float64)',
  ...Object.fromEntries(
    [
      ...['String', 'UUID', 'Date', 'Date32', 'DateTime64', 'Array(String)'],
      ...[
        'Int16',
        'Int32',
        'Int64',
        'UInt8',
        'UInt16',
        'UInt32',
        'UInt64',
        'Float32',
        'Float64',
        'IPv4',
        'IPv6',
      ],
    ].map((type) => [type.replace(/\(.*/, '').toLowerCase(), type]),
  ),
}

/** Types that need more than another name. */
const otherTypes: readonly DialectHint[] = [
  ['interval', 'Write an interval such as `INTERVAL 1 DAY`.'],
  ['jsonb variant object super', 'metadata is JSON already. Write `metadata.x::Nullable(String)`.'],
]

interface MessageHint {
  /** What the engine says. */
  says: RegExp
  /** Words that the SQL contains, the first of which is the mistake. */
  words: string
  hint: string
}

/** Functions and clauses that exist, used as elsewhere. */
export const messageHints: readonly MessageHint[] = [
  {
    says: /^Expected ALL or DISTINCT in SelectWithUnion/,
    words: 'union',
    hint: 'Write UNION ALL to keep all rows, or UNION DISTINCT to drop duplicates.',
  },
  {
    says: /^Window function .* is found in WHERE/s,
    words: 'where',
    hint: 'WHERE cannot filter by a window function. Write QUALIFY instead of WHERE.',
  },
  { says: /support FINAL/, words: 'final', hint: 'Omit FINAL: every entry is stored once.' },
  {
    says: /^Aggregate function quantile\w* requires single argument/,
    words: 'quantile quantileexact quantiletdigest',
    hint: 'The level of quantile has brackets of its own. Write `quantile(0.95)(x)`.',
  },
  {
    says: /^Quantile level is out of range/,
    words: 'quantile quantiles quantileexact quantiletdigest',
    hint: 'The level of quantile is between 0 and 1. Write `quantile(0.95)(x)`.',
  },
  {
    says: /^Aggregate function approx_top_k requires single argument/,
    words: 'approx_top_count approx_top_k',
    hint: 'The number of values has brackets of its own. Write `topK(10)(s)`.',
  },
  {
    says: /^Aggregate function groupConcat requires single argument/,
    words: 'string_agg group_concat groupconcat',
    hint: "The separator has brackets of its own. Write `groupConcat(',')(DISTINCT s)`.",
  },
  {
    says: /^Aggregate function count requires zero or one argument/,
    words: 'count',
    hint: 'To count different combinations, write `uniqExact(s, x)`. To count rows, write `count()`.',
  },
  {
    says: /function isNull doesn't match: passed 2/,
    words: 'isnull',
    hint: "isNull only tests for NULL. Write `ifNull(s, '')`.",
  },
  {
    says: /function if doesn't match: passed 2/,
    words: 'if',
    hint: "if needs a value for both cases: `if(s = 'a', 1, 0)`. To count rows, write `countIf(s = 'a')`.",
  },
  {
    says: /function log doesn't match: passed 2/,
    words: 'log',
    hint: 'log has no base. Write `log2(x)`, `log10(x)` or `log(x) / log(3)`.',
  },
  {
    says: /function 'age'/,
    words: 'age',
    hint: "Write `dateDiff('second', timestamp, @now)`, the earlier time first.",
  },
  {
    says: /function plus doesn't match: passed 3/,
    words: 'dateadd date_add timestampadd timestamp_add',
    hint: 'The unit is not text. Write `dateAdd(DAY, 1, timestamp)`.',
  },
  {
    says: /function 'trunc'.{0,200}DateTime/,
    words: 'trunc truncate',
    hint: "Write `date_trunc('hour', timestamp)`.",
  },
  {
    says: /Illegal type \w{1,60} of 1st argument of function toStartOfInterval/,
    words: 'time_bucket date_bin tostartofinterval',
    hint: 'The time comes first. Write `toStartOfInterval(timestamp, INTERVAL 5 MINUTE)`.',
  },
  {
    says: /^\d{1,20} \w{1,60} doesn't look like datepart name/,
    words: 'date_trunc datetrunc',
    hint: 'Write `toStartOfInterval(timestamp, INTERVAL 5 MINUTE)`.',
  },
  {
    says: /doesn't look like datepart name/,
    words: 'date_trunc datetrunc',
    hint: "The unit is one of second, minute, hour, day, week, month, quarter and year. Write `date_trunc('hour', timestamp)`.",
  },
  {
    says: /^First argument for function dateTrunc must be constant string/,
    words: 'date_trunc datetrunc',
    hint: "The unit comes first. Write `date_trunc('hour', timestamp)`.",
  },
  {
    says: /OFFSET FETCH clause without ORDER BY/,
    words: 'fetch',
    hint: 'FETCH needs ORDER BY before it, to say which rows to keep.',
  },
  {
    says: /must be numeric type/,
    words: 'generate_series generateseries',
    hint: 'generate_series returns numbers only. Write `SELECT toStartOfHour(@now) - INTERVAL number HOUR AS t FROM numbers(24)`.',
  },
  {
    says: /^Illegal types String and String of arguments of function plus/,
    words: '+',
    hint: "To join text, write `s || 'a'`.",
  },
]

/** Words and symbols of other dialects that are a syntax error here, in the order in which they are looked for. */
export const clauses: readonly { words: readonly string[]; hint: string }[] = [
  {
    words: ['{', '%'],
    hint: 'Templates are not available. Write one condition for both cases: `(@project IS NULL OR project = @project)`.',
  },
  { words: ['&', '&'], hint: 'Write AND instead of &&.' },
  { words: [':', '='], hint: 'Variables are not available. Write `WITH 1 AS n SELECT n`.' },
  { words: ['!', '~', '*'], hint: "Write `NOT match(s, '(?i)a')`." },
  { words: ['!', '~'], hint: "Write `NOT match(s, 'a')`." },
  { words: ['~', '*'], hint: "Write `match(s, '(?i)a')`." },
  { words: ['~'], hint: "Write `match(s, 'a')`." },
  { words: ['SIMILAR', 'TO'], hint: "Write `match(s, '^(a|b)$')`." },
  { words: ['RLIKE'], hint: "Write `s REGEXP 'a'` or `match(s, 'a')`." },
  { words: ['WITHIN', 'GROUP', '('], hint: 'WITHIN GROUP is not available. Write `quantile(0.95)(x)`.' },
  { words: ['SEPARATOR'], hint: "The separator has brackets of its own. Write `groupConcat(',')(s)`." },
  { words: ['ARRAY', '['], hint: 'Write an array without the word ARRAY: `[1, 2]`.' },
  { words: ['ARRAY', '(', 'SELECT'], hint: 'Write `(SELECT groupArray(number) FROM numbers(3))`.' },
  { words: ['LATERAL'], hint: `LATERAL is not available. ${arrayJoin}` },
  { words: ['EXCLUDE', '('], hint: 'Write EXCEPT instead of EXCLUDE.' },
  { words: ['MINUS', 'SELECT'], hint: 'Write EXCEPT instead of MINUS.' },
  { words: ['FETCH', 'FIRST'], hint: 'Write LIMIT 10 instead of FETCH FIRST 10 ROWS ONLY.' },
  { words: ['FETCH', 'NEXT'], hint: 'Write LIMIT 10 instead of FETCH NEXT 10 ROWS ONLY.' },
  { words: ['WITH', 'TIME', 'ZONE'], hint: "Write the type DateTime64(6, 'UTC')." },
  { words: ['FOR', 'UPDATE'], hint: 'Omit FOR UPDATE: queries only read and lock nothing.' },
  { words: ['WITH', '(', 'NOLOCK'], hint: 'Omit WITH (NOLOCK): queries lock nothing.' },
  {
    words: ['TABLESAMPLE'],
    hint: 'Sampling is not available. Limit the time instead: `WHERE timestamp > @now - INTERVAL 1 HOUR`.',
  },
  {
    words: ['PIVOT', '('],
    hint: 'PIVOT is not available. Write one column for each value with countIf.',
  },
  { words: ['UNPIVOT', '('], hint: 'UNPIVOT is not available. Write `arrayJoin([1, 2])`.' },
  { words: ['LIMIT', 'ALL'], hint: 'Omit LIMIT ALL.' },
  { words: ['=', '>'], hint: 'Arguments have no names here. Write the values alone.' },
]

/** Units of EXTRACT that the engine does not have, each with the function for it. */
export const extractUnits: Readonly<Record<string, string>> = {
  DAYOFWEEK: 'toDayOfWeek',
  DAYOFYEAR: 'toDayOfYear',
  WEEKDAY: 'toDayOfWeek',
  ISOWEEK: 'toISOWeek',
  WEEKOFYEAR: 'toISOWeek',
  DATE: 'toDate',
  TIME: 'toTime',
}

/** Names that stand for a value elsewhere. */
const values: readonly DialectHint[] = [
  ['sysdate systimestamp getdate current_datetime', 'Write `@now`.'],
  ['all', 'Omit LIMIT ALL.'],
]

export const functionHints = byName(functions)
export const tableFunctionHints = byName(tableFunctions)
export const typeHints = byName(otherTypes)
export const valueHints = byName(values)

/** All sentences, for the test that runs their SQL. */
export const allHints: readonly string[] = [
  ...[...functions, ...tableFunctions, ...otherTypes, ...values].map(([, hint]) => hint),
  ...[...messageHints, ...clauses].map(({ hint }) => hint),
]

function byName(hints: readonly DialectHint[]): ReadonlyMap<string, string> {
  return new Map(hints.flatMap(([names, hint]) => names.split(' ').map((name) => [name, hint] as const)))
}

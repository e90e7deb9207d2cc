export const keywords =
  'select from where group by order having limit offset with as and or not in is null like ilike between case when then else ' +
  'end join left right inner outer full cross on using union all distinct asc desc interval array final asof ' +
  'global over partition rows range preceding following unbounded current row exists except intersect'

/** Function names are case-sensitive in the engine. */
export const functions = (
  'count sum min max avg any anyLast uniq uniqExact quantile quantiles quantileExact quantilesExact median argMax argMin countIf ' +
  'sumIf avgIf minIf maxIf uniqIf quantileIf groupArray groupUniqArray topK toStartOfSecond toStartOfMinute ' +
  'toStartOfFiveMinutes toStartOfFifteenMinutes toStartOfHour toStartOfDay toStartOfWeek toStartOfMonth toStartOfInterval ' +
  'toIntervalSecond toIntervalMinute toIntervalHour toIntervalDay toDateTime toDateTime64 toDate toUnixTimestamp ' +
  'toUnixTimestamp64Micro parseDateTimeBestEffort formatDateTime dateTrunc dateDiff toString toFloat64 toInt64 ' +
  'toUInt64 toInt64OrNull toFloat64OrNull matches match like extract extractAll multiIf if ifNull nullIf coalesce isNull isNotNull ' +
  'assumeNotNull arrayJoin arrayMap arrayFilter arraySort arrayElement arrayExists has length empty notEmpty lower upper trim ' +
  'substring position startsWith endsWith concat replaceOne replaceAll replaceRegexpOne replaceRegexpAll splitByChar ' +
  'splitByString JSONExtractString JSONExtractInt JSONExtractFloat JSONExtractBool toJSONString domain path cutQueryString ' +
  'numbers round floor ceil abs greatest least intDiv modulo cityHash64'
).split(' ')

export const types =
  'String Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64 DateTime DateTime64 Date Bool JSON Nullable Array Map Tuple'

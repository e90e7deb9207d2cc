/**
 * Functions that saved SQL can use: those that compute their result from their arguments alone. Everything else is
 * refused, so that a new function of a later engine is reviewed before anybody can use it. A test compares the lists
 * with the functions of the engine.
 *
 * Functions whose result depends on how a value is stored, such as byteSize and JSONDynamicPaths, are left out. Rows of
 * all tenants are stored together, so a result for one's own row would reveal something about theirs.
 */

/** Families with regular names, in lower case. */
const families = [
  /^to(u?int(8|16|32|64|128|256)|float(32|64)|bfloat16|decimal(32|64|128|256)|ipv[46]|uuid)(or(null|zero|default))?$/,
  /^to(date|time)(32|64|time|time32|time64)?(or(null|zero|default))?$/,
  /^parsedatetime(32|64)?(besteffort(us)?|injodasyntax)?(or(null|zero))?$/,
  /^reinterpretas((u?int|float)\d+|date|datetime|string|fixedstring|uuid)$/,
  /^(add|subtract|change|tointerval|to(startof|relative)?)?(nano|micro|milli)?(second|minute|hour|day|week|month|quarter|year)(num)?s?$/,
  /^(from|to)unixtimestamp(64(second|milli|micro|nano))?$/,
  /^jsonextract(bool|string|int|uint|float|raw|arrayraw|keys|keysandvalues|keysandvaluesraw)?(caseinsensitive)?$/,
  /^(simplejson|visitparam)(has|extract(bool|string|int|uint|float|raw))$/,
  /^multisearch(any|firstindex|firstposition|allpositions)(caseinsensitive)?(utf8)?$/,
  /^multi(fuzzy)?match(any|anyindex|allindices)$/,
  /^(ngram(distance|search)|(ngram|wordshingle)(simhash|minhash|minhasharg))(caseinsensitive)?(utf8)?$/,
  /^(position|countsubstrings|hassubsequence|startswith|endswith)(caseinsensitive)?(utf8)?$/,
  /^(try)?base(32|58|64|64url)(en|de)code$/,
  /^(cutto)?firstsignificantsubdomain(withwww)?(rfc)?$/,
  /^ipv[46](numtostring|numtostringclassc|stringtonum|cidrtorange|toipv6)(or(null|default))?$/,
  /^bitmap(build|toarray|subsetinrange|subsetlimit|contains|hasany|hasall|cardinality|min|max|transform)$/,
  /^bitmap(and|or|xor|andnot)(cardinality)?$/,
  /^emptyarray((u?int|float)\d+|date|datetime|string|tosingle)$/,
  /^tuple(concat|names|tonamevaluepairs|hammingdistance)?$/,
  /^tuple(plus|minus|multiply|divide|modulo|negate|intdiv|intdivorzero|positivemodulo)(bynumber)?$/,
  /^((l1|l2|l2squared|linf|lp)(distance|norm|normalize)|(distance|norm|normalize)(l1|l2|l2squared|linf|lp))$/,
  /^h3(get|is|to|hex|edge|exactedge|cellarea|pointdist|unidirectionaledge)\w+$/,
  /^h3(distance|indexesareneighbors|kring|line|numhexagons|polygontocells(withcontainment)?)$/,
  /^polygons?(area|perimeter|convexhull|distance|equals|intersect|intersection|symdifference|union|within)(cartesian|spherical)$/,
  /^readwk[bt](point|ring|linestring|multilinestring|polygon|multipolygon)?$/,
  /^st_(point|line|mline|poly|mpoly)fromwkb$/,
]

const ordinary = words(
  // Operators and conditions
  `abs and assumeNotNull avg2 bitAnd bitCount bitHammingDistance bitNot bitOr bitRotateLeft bitRotateRight
   bitShiftLeft bitShiftRight bitSlice bitTest bitTestAll bitTestAny bitXor byteSwap caseWithoutExpr
   caseWithoutExpression clamp coalesce divide divideDecimal divideOrNull equals exists firstNonDefault gcd
   globalIn globalNotIn globalNotNullIn globalNullIn greater greaterOrEquals greatest grouping if
   ifNotFinite ifNull in intDiv intDivOrNull intDivOrZero isDistinctFrom isFinite isInfinite isNaN
   isNotDistinctFrom isNotNull isNull isNullable isZeroOrNull lambda lcm least less lessOrEquals max2
   midpoint min2 minus mod modOrNull modulo moduloLegacy moduloOrNull moduloOrZero multiIf multiply
   multiplyDecimal negate not notEquals notIn notNullIn nullIf nullIn or plus pmod pmodOrNull
   positive_modulo positive_modulo_or_null positiveModulo positiveModuloOrNull sqr toNullable xor`,
  // Numbers
  `acos acosh asin asinh atan atan2 atanh cbrt ceil ceiling cos cosh cosineDistance cosineDistanceTransposed
   cosineDistanceTransposedQuantized degrees distanceCosine distanceCosineTransposed distanceL2Transposed
   dotProductTransposed dotProductTransposedQuantized e erf erfc exp exp10 exp2 factorial
   financialInternalRateOfReturn financialInternalRateOfReturnExtended financialNetPresentValue
   financialNetPresentValueExtended floor fuzzBits hypot intExp10 intExp2 isPrime isProbablePrime
   L2DistanceTransposed L2DistanceTransposedQuantized lgamma ln log log10 log1p log2 pi pow power
   proportionsZTest radians rand rand32 rand64 randBernoulli randBinomial randCanonical randChiSquared
   randConstant randExponential randFisherF randLogNormal randNegativeBinomial randNormal randomFixedString
   randomPrintableASCII randomString randomStringUTF8 randPoisson randStudentT randUniform round roundAge
   roundBankers roundDown roundDuration roundToExp2 scalarProductTransposed sigmoid sign sin sinh sqrt tan
   tanh tgamma trunc truncate width_bucket widthBucket`,
  // Dates and times
  `addDate addInterval addTupleOfIntervals age curdate current_date current_timestamp date_bin date_diff
   DATE_FORMAT DATE_TRUNC dateDiff dateName dateTrunc DAYOFMONTH DAYOFWEEK DAYOFYEAR formatDateTime
   formatDateTimeInJodaSyntax FROM_DAYS FROM_UNIXTIME from_utc_timestamp fromDaysSinceYearZero
   fromDaysSinceYearZero32 fromModifiedJulianDay fromModifiedJulianDayOrNull fromUnixTimestampInJodaSyntax
   fromUTCTimestamp hop hopEnd hopStart LAST_DAY localtime localtimestamp makeDate makeDate32 makeDateTime
   makeDateTime64 monthName now now64 subDate subtractInterval subtractTupleOfIntervals time_bucket timeDiff
   timeSlot timeSlots timestamp timestamp_diff timestampDiff timezoneOf timezoneOffset TO_DAYS
   to_utc_timestamp toDayOfMonth toDayOfWeek toDayOfYear toDaysInMonth toDaysSinceYearZero toISOWeek
   toISOYear toLastDayOfMonth toLastDayOfWeek toModifiedJulianDay toModifiedJulianDayOrNull toMonday
   toMonthNumSinceEpoch toStartOfFifteenMinutes toStartOfFiveMinute toStartOfFiveMinutes toStartOfInterval
   toStartOfISOYear toStartOfTenMinutes toTimeWithFixedDate toTimezone toUTCTimestamp toYearNumSinceEpoch
   toYearWeek toYYYYMM toYYYYMMDD toYYYYMMDDhhmmss tumble tumbleEnd tumbleStart UTC_timestamp UTCTimestamp
   windowID yearweek yesterday YYYYMMDDhhmmssToDateTime YYYYMMDDhhmmssToDateTime64 YYYYMMDDToDate
   YYYYMMDDToDate32`,
  // Strings
  `alphaTokens appendTrailingCharIfAbsent array_to_string arrayStringConcat ascii basename
   byteHammingDistance byteSlice caseFoldUTF8 CHAR_LENGTH CHARACTER_LENGTH compareSubstrings concat
   concat_ws concatAssumeInjective concatWithSeparator concatWithSeparatorAssumeInjective conv
   convertCharset countMatches countMatchesCaseInsensitive CRC32 CRC32IEEE CRC64 damerauLevenshteinDistance
   decodeHTMLComponent decodeXMLComponent editDistance editDistanceUTF8 encodeXMLComponent extract
   extractAll extractAllGroups extractAllGroupsHorizontal extractAllGroupsVertical extractGroups
   extractTextFromHTML firstLine format FROM_BASE64 hasAllToken hasAllTokens hasAnyToken hasAnyTokens
   hasPhrase hasToken hasTokenCaseInsensitive hasTokenCaseInsensitiveOrNull hasTokenOrNull highlight ilike
   initcap initcapUTF8 instr isASCII isValidASCII isValidUTF8 jaroSimilarity jaroWinklerSimilarity lcase
   left leftPad leftPadUTF8 leftUTF8 lengthUTF8 levenshteinDistance levenshteinDistanceUTF8 like locate
   lower lowerUTF8 lpad ltrim match matchPhrase mid mismatches NATURAL_SORT_KEY naturalSortKey ngrams
   normalizeUTF8NFC normalizeUTF8NFD normalizeUTF8NFKC normalizeUTF8NFKCCasefold normalizeUTF8NFKD notILike
   notLike overlay overlayUTF8 printf REGEXP_EXTRACT regexp_instr REGEXP_MATCHES REGEXP_REPLACE
   REGEXP_SUBSTR regexpExtract regexpInstr regexpPosition regexpQuoteMeta removeAccentsUTF8
   removeDiacriticsUTF8 repeat replace replaceAll replaceOne replaceRegexpAll replaceRegexpOne
   reverseBySeparator reverseUTF8 right rightPad rightPadUTF8 rightUTF8 rpad rtrim soundex space sparseGrams
   sparseGramsHashes sparseGramsHashesUTF8 sparseGramsUTF8 splitByAlpha splitByChar splitByNonAlpha
   splitByRegexp splitByString splitByWhitespace stringBytesEntropy stringBytesUniq stringJaccardIndex
   stringJaccardIndexUTF8 substr substring SUBSTRING_INDEX substringIndex substringIndexUTF8 substringUTF8
   TO_BASE64 tokens tokensForLikePattern toValidUTF8 translate translateUTF8 trim trimBoth trimLeft
   trimRight ucase upper upperUTF8`,
  // Arrays, maps and tuples
  `array array_remove arrayAll arrayAUC arrayAUCPR arrayAutocorrelation arrayAvg arrayBottomK arrayCompact
   arrayConcat arrayCount arrayCumSum arrayCumSumNonNegative arrayDifference arrayDistinct arrayDotProduct
   arrayElement arrayElementOrNull arrayEnumerate arrayEnumerateDense arrayEnumerateDenseRanked
   arrayEnumerateUniq arrayEnumerateUniqRanked arrayExcept arrayExists arrayFill arrayFilter arrayFirst
   arrayFirstIndex arrayFirstOrNull arrayFlatten arrayFold arrayIntersect arrayJaccardIndex arrayJoin
   arrayLast arrayLastIndex arrayLastOrNull arrayLevenshteinDistance arrayLevenshteinDistanceWeighted
   arrayMap arrayMax arrayMin arrayNormalizedGini arrayPartialReverseSort arrayPartialShuffle
   arrayPartialSort arrayPopBack arrayPopFront arrayPRAUC arrayProduct arrayPushBack arrayPushFront
   arrayRandomSample arrayReduce arrayReduceInRanges arrayRemove arrayResize arrayReverse arrayReverseFill
   arrayReverseSort arrayReverseSplit arrayROCAUC arrayRotateLeft arrayRotateRight arrayShiftLeft
   arrayShiftRight arrayShingles arrayShuffle arraySimilarity arraySlice arraySort arraySplit arraySum
   arraySymmetricDifference arrayTopK arrayTranspose arrayUnion arrayUniq arrayWithConstant arrayZip
   arrayZipUnaligned CARDINALITY countEqual dotProduct empty extractKeyValuePairs
   extractKeyValuePairsWithEscaping flatten flattenTuple has hasAll hasAny hasSubstr indexOf
   indexOfAssumeSorted length map MAP_FROM_ARRAYS mapAdd mapAll mapApply mapConcat mapContains
   mapContainsKey mapContainsKeyLike mapContainsValue mapContainsValueLike mapExists mapExtractKeyLike
   mapExtractValueLike mapFilter mapFromArrays mapFromString mapKeys mapPartialReverseSort mapPartialSort
   mapPopulateSeries mapReverseSort mapSort mapSubtract mapUpdate mapValues notEmpty OCTET_LENGTH range
   replicate reverse scalarProduct str_to_map subBitmap tupleElement unnest untuple vectorDifference
   vectorSum`,
  // JSON and types
  `accurateCast accurateCastOrDefault accurateCastOrNull CAST DATE dynamicElement dynamicType isValidJSON
   JSON_ARRAY_LENGTH JSON_EXISTS JSON_QUERY JSON_VALUE JSONAllPaths JSONAllPathsWithTypes JSONAllValues
   JSONArrayLength JSONHas JSONKey JSONLength jsonMergePatch JSONType prettyPrintJSON reinterpret
   str_to_date TO_UNIXTIME toBool toDecimalString toFixedString toInterval toJSONString toLowCardinality
   toString toStringCutToZero`,
  // Addresses, places and identifiers
  `areaCartesian areaSpherical cutFragment cutIPv6 cutQueryString cutQueryStringAndFragment cutURLParameter
   cutWWW dateTime64ToSnowflakeID dateTimeToSnowflakeID dateTimeToUUIDv7 decodeURLComponent
   decodeURLFormComponent domain domainRFC domainWithoutWWW domainWithoutWWWRFC encodeURLComponent
   encodeURLFormComponent extractURLParameter extractURLParameterNames extractURLParameters fragment
   generateSnowflakeID generateUUIDv4 generateUUIDv7 geoDistance geohashDecode geohashEncode geohashesInBox
   geometryIntersectCartesian geometryIntersectSpherical geoToH3 geoToMGRS geoToUTM greatCircleAngle
   greatCircleDistance INET6_ATON INET6_NTOA INET_ATON INET_NTOA isIPAddressInRange isIPv4String
   isIPv6String MGRSToGeo netloc path pathFull perimeterCartesian perimeterSpherical pointInEllipses
   pointInPolygon port portRFC protocol queryString queryStringAndFragment snowflakeIDToDateTime
   snowflakeIDToDateTime64 stringToH3 svg topLevelDomain topLevelDomainRFC URLHierarchy URLPathHierarchy
   UTMToGeo UUIDNumToString UUIDStringToNum UUIDToNum UUIDv7ToDateTime wkb wkt`,
  // Hashes and encodings
  `aes_decrypt_mysql aes_encrypt_mysql bin bitmaskToArray bitmaskToList bitPositionsToArray char cityHash64
   decrypt encrypt farmFingerprint64 farmHash64 gccMurmurHash halfMD5 hex hilbertDecode hilbertEncode
   hiveHash HMAC icebergHash intHash32 intHash64 javaHash javaHashUTF16LE jumpConsistentHash kafkaMurmurHash
   keccak256 kostikConsistentHash MD4 MD5 metroHash64 mortonDecode mortonEncode murmurHash2_32
   murmurHash2_64 murmurHash3_128 murmurHash3_32 murmurHash3_64 RIPEMD160 SHA1 SHA224 SHA256 SHA384 SHA512
   SHA512_256 sipHash128 sipHash128Keyed sipHash128Reference sipHash128ReferenceKeyed sipHash64
   sipHash64Keyed sqid sqidDecode sqidEncode tryDecrypt unbin unhex URLHash wyHash64 xxh3 xxh3_128 xxHash32
   xxHash64 xxHash64Spark yandexConsistentHash`,
  // Others
  `bar caseWithExpr caseWithExpression colorOKLABToSRGB colorOKLCHToSRGB colorSRGBToOKLAB colorSRGBToOKLCH
   countDigits digits finalizeAggregation flipCoordinates FORMAT_BYTES formatReadableDecimalSize
   formatReadableQuantity formatReadableSize formatReadableTimeDelta getSubcolumn identity ignore
   initializeAggregation isConstant isDecimalOverflow MACNumToString MACStringToNum MACStringToOUI
   materialize minSampleSizeContinous minSampleSizeContinuous minSampleSizeConversion normalizedQueryHash
   normalizedQueryHashKeepNames normalizeQuery normalizeQueryKeepNames parseReadableSize
   parseReadableSizeOrNull parseReadableSizeOrZero parseTimeDelta seriesDecomposeSTL
   seriesOutliersDetectTukey timeSeriesFromGrid timeSeriesRange toTypeName transform variantElement
   variantType visibleWidth`,
)

const aggregateFamily =
  /^(quantiles?|median)((exact(low|high|inclusive|exclusive)?|deterministic|dd|gk)|(exact|timing|tdigest|bfloat16)(weighted)?|(exactweighted|interpolated)(interpolated|weighted))?$/

/** Aggregate and window functions. */
const aggregates =
  words(`analysisOfVariance anova any any_respect_nulls any_value any_value_respect_nulls anyHeavy anyLast
   anyLast_respect_nulls anyLastRespectNulls anyRespectNulls anyValueRespectNulls approx_top_count
   approx_top_k approx_top_sum argAndMax argAndMin argMax argMin array_agg array_concat_agg avg avgWeighted
   BIT_AND BIT_OR BIT_XOR boundingRatio categoricalInformationValue contingency corr corrMatrix corrStable
   count COVAR_POP COVAR_SAMP covarPop covarPopMatrix covarPopStable covarSamp covarSampMatrix
   covarSampStable cramersV cramersVBiasCorrected cume_dist deltaSum deltaSumTimestamp dense_rank denseRank
   distinctDynamicTypes distinctJSONPaths distinctJSONPathsAndTypes entropy exponentialMovingAverage
   exponentialTimeDecayedAvg exponentialTimeDecayedCount exponentialTimeDecayedMax exponentialTimeDecayedSum
   first_value first_value_respect_nulls firstValueRespectNulls group_concat groupArray groupArrayInsertAt
   groupArrayIntersect groupArrayLast groupArrayMovingAvg groupArrayMovingSum groupArraySample
   groupArraySorted groupBitAnd groupBitmap groupBitmapAnd groupBitmapOr groupBitmapXor groupBitOr
   groupBitXor groupConcat groupNumericIndexedVector groupUniqArray histogram intervalLengthSum
   kolmogorovSmirnovTest kurtPop kurtSamp lag lagInFrame largestTriangleThreeBuckets last_value
   last_value_respect_nulls lastValueRespectNulls lead leadInFrame lttb mannWhitneyUTest max max_by
   maxIntersections maxIntersectionsPosition maxMappedArrays meanZTest min min_by minMappedArrays
   nonNegativeDerivative nth_value ntile percent_rank percentRank quantilePrometheusHistogram
   quantilesPrometheusHistogram rank rankCorr retention row_number sequenceCount sequenceMatch
   sequenceMatchEvents sequenceNextNode simpleLinearRegression singleValueOrNull skewPop skewSamp sparkbar
   STD STDDEV STDDEV_POP STDDEV_SAMP stddevPop stddevPopStable stddevSamp stddevSampStable string_agg
   studentTTest studentTTestOneSample sum sumCount sumKahan sumMapFiltered sumMapFilteredWithOverflow
   sumMappedArrays sumMapWithOverflow sumWithOverflow theilsU timeSeriesChangesToGrid timeSeriesDeltaToGrid
   timeSeriesDerivToGrid timeSeriesGroupArray timeSeriesIncreaseToGrid timeSeriesInstantDeltaToGrid
   timeSeriesInstantRateToGrid timeSeriesLastToGrid timeSeriesLastTwoSamples timeSeriesPredictLinearToGrid
   timeSeriesRateToGrid timeSeriesResampleToGridWithStaleness timeSeriesResetsToGrid topK topKWeighted uniq
   uniqCombined uniqCombined64 uniqExact uniqHLL12 uniqUpTo VAR_POP VAR_SAMP varPop varPopStable varSamp
   varSampStable welchTTest windowFunnel`)

const combinators =
  /(if|array|map|tuple|simplestate|state|merge|foreach|distinct|ordefault|ornull|resample|argmin|argmax|null)$/

/** Members of the families that people use most, as the engine spells them. */
const common = words(
  `toInt32 toInt64 toUInt64 toFloat64 toInt64OrNull toFloat64OrNull toDate toDateTime toDateTime64 toDateTimeOrNull
   parseDateTime parseDateTimeBestEffort parseDateTimeBestEffortOrNull toUnixTimestamp toUnixTimestamp64Milli
   toUnixTimestamp64Micro fromUnixTimestamp fromUnixTimestamp64Milli fromUnixTimestamp64Micro toYear toQuarter
   toMonth toWeek toHour toMinute toSecond toStartOfSecond toStartOfMinute toStartOfHour toStartOfDay
   toStartOfWeek toStartOfMonth toStartOfQuarter toStartOfYear addSeconds addMinutes addHours addDays
   subtractDays toIntervalSecond toIntervalMinute toIntervalHour toIntervalDay JSONExtract JSONExtractString
   JSONExtractInt JSONExtractFloat JSONExtractBool JSONExtractRaw JSONExtractArrayRaw JSONExtractKeys
   simpleJSONExtractString position positionCaseInsensitive startsWith endsWith base64Encode base64Decode
   cutToFirstSignificantSubdomain tuple today quantile quantiles quantileExact quantileTDigest
   quantileTiming median countIf sumIf avgIf minIf maxIf anyIf uniqIf uniqExactIf quantileIf argMaxIf groupArrayIf`,
)

/** Table functions that read no data. */
const generators = words(
  'numbers numbers_mt zeros zeros_mt generate_series generateSeries values SQLStandardValues',
)

/** Names by their lower case. */
function words(...lists: string[]): ReadonlyMap<string, string> {
  const names = lists.flatMap((list) => list.split(/\s+/)).filter(Boolean)
  return new Map(names.map((name) => [name.toLowerCase(), name]))
}

/** Allowed functions by their lower case: all but the rarer members of families. */
export const functionNames: ReadonlyMap<string, string> = new Map([...ordinary, ...aggregates, ...common])

export function isGenerator(name: string): boolean {
  return generators.has(name.toLowerCase())
}

/** The aggregate function without combinators: sum for sumIf and sumStateOrNull. */
function aggregateBase(name: string): string | undefined {
  return withoutCombinators(name, (base) => aggregates.has(base) || aggregateFamily.test(base))
}

/** The longest known start of a name that continues with combinators only, in lower case. */
export function withoutCombinators(name: string, isKnown: (base: string) => boolean): string | undefined {
  let base = name.toLowerCase()
  while (!isKnown(base)) {
    const shorter = base.replace(combinators, '')
    if (shorter === base) return undefined
    base = shorter
  }
  return base
}

export function isAggregate(name: string): boolean {
  return aggregateBase(name) !== undefined
}

/** Ignores case. No two functions of the engine that differ only in case differ in whether they are allowed. */
export function isAllowedFunction(name: string): boolean {
  const lower = name.toLowerCase()
  return ordinary.has(lower) || families.some((family) => family.test(lower)) || isAggregate(lower)
}

/**
 * Functions whose work grows faster than their arguments. The engine checks the time limit before and after a function
 * runs, so one can run for hours until the engine process is killed. Saved SQL can use them, because its author chooses
 * the arguments. `npm run torture -- functions` finds them.
 */
export const unstoppable: ReadonlySet<string> = new Set(
  words(`arrayAutocorrelation arrayLevenshteinDistance arrayLevenshteinDistanceWeighted arraySimilarity
   damerauLevenshteinDistance editDistance editDistanceUTF8 jaroSimilarity jaroWinklerSimilarity
   levenshteinDistance levenshteinDistanceUTF8 kolmogorovSmirnovTest mannWhitneyUTest seriesDecomposeSTL
   JSON_EXISTS JSON_QUERY JSON_VALUE JSONMergePatch h3PolygonToCells h3PolygonToCellsWithContainment
   polygonsDistanceCartesian polygonsDistanceSpherical polygonsIntersectionCartesian polygonsIntersectionSpherical polygonsSymDifferenceCartesian
   polygonsSymDifferenceSpherical polygonsUnionCartesian polygonsUnionSpherical polygonsWithinCartesian
   polygonsWithinSpherical`).keys(),
)

/** Whether SQL that a caller sends can use a function. */
export function isSandboxFunction(name: string): boolean {
  const lower = name.toLowerCase()
  const denied = unstoppable.has(lower) || unstoppable.has(aggregateBase(lower) ?? '')
  return isAllowedFunction(lower) && !denied
}

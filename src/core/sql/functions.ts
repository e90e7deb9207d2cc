import lists from './functions.json' with { type: 'json' }

/**
 * Functions that saved SQL can use: those that compute their result from their arguments alone. Others are refused, also
 * those whose result depends on how a value is stored, because rows of all tenants are stored together.
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

const ordinary = byLowerCase(Object.values(lists.ordinary).flat())

const aggregateFamily =
  /^(quantiles?|median)((exact(low|high|inclusive|exclusive)?|deterministic|dd|gk)|(exact|timing|tdigest|bfloat16)(weighted)?|(exactweighted|interpolated)(interpolated|weighted))?$/

const aggregates = byLowerCase(lists.aggregates)

const combinators =
  /(if|array|map|tuple|simplestate|state|merge|foreach|distinct|ordefault|ornull|resample|argmin|argmax|null)$/

/** Table functions that read no data. */
const generators = byLowerCase(lists.generators)

/** Allowed functions by their lower case: all but the rarer members of families. */
export const functionNames: ReadonlyMap<string, string> = new Map([
  ...ordinary,
  ...aggregates,
  // Members of the families that people use most, as the engine spells them.
  ...byLowerCase(lists.common),
])

/** All functions of the engine that saved SQL cannot use. Review names that a new version adds or removes. */
export const refusedFunctions = names(lists.refused)

function names(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => line.split(' '))
}

function byLowerCase(lines: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names(lines).map((name) => [name.toLowerCase(), name]))
}

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
export const unstoppable: ReadonlySet<string> = new Set(byLowerCase(lists.unstoppable).keys())

/** Whether SQL that a caller sends can use a function. */
export function isSandboxFunction(name: string): boolean {
  const lower = name.toLowerCase()
  const denied = unstoppable.has(lower) || unstoppable.has(aggregateBase(lower) ?? '')
  return isAllowedFunction(lower) && !denied
}

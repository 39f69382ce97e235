/** Plugin `tags`: reads the tags of a call from its headers and its body, for its charge, its task
 *  and the lines of its batch. Without the section `tags:` it costs nothing. */
import { nearest } from '../engine/config/nearest.ts'
import { object, type RawOf, type ValueOf } from '../engine/config/shape.ts'
import { isFields } from '../engine/kit.ts'
import type {
  Document,
  Exchange,
  Host,
  Json,
  Next,
  Plugin,
  Report,
  Stage,
} from '../engine/plugin.ts'
import { unitsOf } from './billing/money.ts'
import { modelsIn } from './catalogue/configured.ts'
import { conditionsOf } from './catalogue/section.ts'
import { addDropped } from './conversion/dropped-fields.ts'
import { routeFormat } from './conversion/route-format.ts'
import { ACCOUNT, type Account, CHARGE, CHOOSE_BY_TAGS, TAGS, type Tags } from './slots.ts'
import { TagMetrics } from './tagging/metrics.ts'
import { knownTagsIn, SECTION, tagPlacesIn, VALUE } from './tagging/section.ts'
import { type Place, PlaceRules, reportPlace } from './zones/rule.ts'

type Section = ValueOf<typeof SECTION>

export default {
  schema: object(
    'Nothing to set: the section `tags:` says which tags there are.',
    {},
    { examples: [{}] },
  ).schema,
  default: {},
  // Behind `model` the body is outlined, and a WebSocket session has its account.
  after: ['auth', 'model'],
  before: ['meter'],
  sections: { tags: SECTION.schema },
  metrics: {
    tagged_calls_total: 'Calls that ended, by tag.',
    tagged_charged_total: 'Charges of calls that ended, by tag, in units of the currency.',
  },
  check(document, report) {
    checkPipeline(document, report)
    checkRules(document, report)
    checkValues(document, report)
    checkPlaces(document, report)
  },
  setup(_, host: Host): Stage {
    const raw = host.section<RawOf<typeof SECTION> | undefined>('tags')
    if (!raw?.known) return {}
    const section = SECTION.read(raw)
    const readsBody = section.metadata && routeFormat(host) !== undefined
    return new TagStage(section, readsBody, new TagMetrics(host), new TagZones(host))
  },
} satisfies Plugin<object>

/** A section that no stage reads has no effect. */
function checkPipeline({ tags, pipeline }: Document, report: Report): void {
  if (!isFields(tags) || !Array.isArray(pipeline) || pipeline.includes('tags')) return
  report(
    ['tags'],
    'TAGS_OPTION',
    'no call gets tags: `pipeline:` has no `tags`; add it before `meter`',
  )
}

/** Tags in rules of models that no call can have. */
function checkRules(document: Document, report: Report): void {
  const known = knownTagsIn(document.tags)
  const names = Object.keys(known)
  for (const [model, { rules = [] }] of Object.entries(modelsIn(document)))
    for (const [index, rule] of rules.entries())
      for (const [tag, values] of Object.entries(conditionsOf(rule).tags)) {
        const at = ['models', model, 'rules', index, 'when', 'tags', tag]
        const own = Object.hasOwn(known, tag) ? known[tag] : undefined
        const wrong = Array.isArray(own)
          ? [values].flat().find(each => !own.includes(each))
          : undefined
        if (!names.includes(tag)) {
          const message = 'no call has this tag: `tags:` does not name it under `known`'
          report(at, 'TAGS_OPTION', message, nearest(tag, names))
        } else if (wrong !== undefined)
          report(
            at,
            'TAGS_OPTION',
            `no call has ${JSON.stringify(wrong)} for this tag`,
            nearest(wrong, own as readonly string[]),
          )
      }
}

/** Only one of several places of a value would count. */
function checkValues({ tags }: Document, report: Report): void {
  for (const [tag, values] of Object.entries(knownTagsIn(tags)))
    if (Array.isArray(values))
      for (const [index, value] of values.entries())
        if (values.indexOf(value) < index)
          report(['tags', 'known', tag, index], 'TAGS_OPTION', 'the value is listed twice')
}

/** Zones of values that no upstream has: calls with such a tag would be refused. */
function checkPlaces({ tags, upstreams }: Document, report: Report): void {
  for (const { tag, index, place } of tagPlacesIn(tags))
    reportPlace(place, ['tags', 'known', tag, index], upstreams, report)
}

const NO_ACCOUNT: Partial<Account> = {}

class TagStage implements Stage {
  readonly #section: Section
  readonly #readsBody: boolean
  readonly #values: ReadonlyMap<string, ReadonlySet<string> | RegExp>
  readonly #metrics: TagMetrics
  readonly #zones: TagZones

  /** `readsBody`: bodies of this route have a format and may have tags. */
  constructor(section: Section, readsBody: boolean, metrics: TagMetrics, zones: TagZones) {
    this.#section = section
    this.#zones = zones
    this.#metrics = metrics
    this.#readsBody = readsBody
    this.#values = new Map(
      Object.entries(knownTagsIn(section as never)).map(([name, values]) => [
        name,
        values === 'any' ? new RegExp(VALUE) : new Set(values),
      ]),
    )
  }
  handle(exchange: Exchange, next: Next): Promise<void> {
    const { request } = exchange
    // `model` has outlined the body unless the path names the model.
    return this.#readsBody && request.outlined === undefined
      ? request.outline().then(() => this.#setTags(exchange, next))
      : this.#setTags(exchange, next)
  }
  #setTags(exchange: Exchange, next: Next): Promise<void> {
    const { headers } = exchange.request
    const { header, baggage, metadata } = this.#section
    const collected = new CollectedTags(this.#values)
    const { limits, member, key } = exchange.slots.get(ACCOUNT) ?? NO_ACCOUNT
    if (limits?.tags !== undefined) collected.pin(limits.tags, 'account/')
    if (member?.tags !== undefined) collected.pin(member.tags, 'member/')
    if (key?.limits?.tags !== undefined) collected.pin(key.limits.tags, 'key/')
    const own = headers[header]
    if (own !== undefined) collected.addList(own, `${header}/`)
    if (metadata) collected.addMembers(exchange.request.outlined)
    const context = headers.baggage
    if (context !== undefined && baggage !== undefined) collected.addBaggage(context, baggage)
    // A line of a batch and a resumed response have the tags of the request that created them.
    const tags = { ...exchange.slots.get(TAGS), ...collected.tags }
    if (Object.keys(tags).length > 0) {
      exchange.slots.set(TAGS, tags)
      this.#zones.apply(exchange, tags)
      exchange.onEnd(() =>
        this.#metrics.countCall(tags, unitsOf(exchange.slots.get(CHARGE)?.nanos ?? 0n)),
      )
    }
    exchange.slots.get(CHOOSE_BY_TAGS)?.()
    return collected.dropped.length === 0 ? next() : nameDropped(exchange, next, collected.dropped)
  }
  explain = ({ slots }: Exchange): Json => ({ ...slots.get(TAGS) })
}

const nameDropped = async (
  exchange: Exchange,
  next: Next,
  names: readonly string[],
): Promise<void> => {
  await next()
  addDropped(exchange.reply, names)
}

/** The places that values of tags demand. */
class TagZones {
  /** By `project=beta`. */
  readonly #places: ReadonlyMap<string, Place>
  readonly #rules: PlaceRules
  constructor({ section, upstreams }: Host) {
    const places = tagPlacesIn(section('tags'))
    this.#places = new Map(places.map(({ tag, value, place }) => [`${tag}=${value}`, place]))
    this.#rules = new PlaceRules(upstreams)
  }
  /** Throws ZONE_REFUSED. */
  apply(exchange: Exchange, tags: Tags): void {
    if (this.#places.size === 0) return
    for (const [tag, value] of Object.entries(tags)) {
      const place = this.#places.get(`${tag}=${value}`)
      if (place) this.#rules.apply(exchange, place, `the tag ${tag}=${value}`)
    }
  }
}

/** The tags of one request. Its sources are added in order: the first value of a name counts. */
class CollectedTags {
  readonly #values: ReadonlyMap<string, ReadonlySet<string> | RegExp>
  readonly #tags = new Map<string, string>()
  /** Names of the tags that the account, the member or the key has. */
  readonly #pinned = new Set<string>()
  /** The place of an unknown tag or value: `x-tollgate-tags/project`. */
  readonly dropped: string[] = []

  constructor(values: ReadonlyMap<string, ReadonlySet<string> | RegExp>) {
    this.#values = values
  }
  get tags(): Tags {
    return Object.fromEntries(this.#tags)
  }
  /** Tags of the account, the member or the key: a request cannot replace them. */
  pin(list: string, place: string): void {
    this.addList(list, place)
    for (const name of this.#tags.keys()) this.#pinned.add(name)
  }
  /** `project=alpha, feature=search`. Every name must be known. */
  addList(list: string, place: string): void {
    for (const member of list.split(',')) {
      const [name = '', value = ''] = splitMember(member)
      if (name !== '') this.#add(name, value, place, true)
    }
  }
  /** Only members whose name begins with the prefix are tags. */
  addBaggage(header: string, prefix: string): void {
    for (const member of header.split(',')) {
      const [name = '', value = ''] = splitMember(member.split(';', 1)[0] ?? '')
      if (name.startsWith(prefix))
        this.#add(name.slice(prefix.length), decoded(value), `baggage/${prefix}`, prefix !== '')
    }
  }
  /** Members with other names are not tags. */
  addMembers(body: Json | undefined): void {
    if (!isFields(body)) return
    for (const place of ['metadata', 'labels']) {
      const members = body[place]
      if (isFields(members))
        for (const [name, value] of Object.entries(members))
          this.#add(name, value, `${place}.`, false)
    }
  }
  #add(name: string, value: Json, place: string, mustBeKnown: boolean): void {
    const values = this.#values.get(name)
    if (!values && !mustBeKnown) return
    if (typeof value === 'string' && values && isOneOf(values, value)) {
      const before = this.#tags.get(name)
      if (before === undefined) this.#tags.set(name, value)
      else if (before !== value && this.#pinned.has(name)) this.#drop(place, name)
    } else this.#drop(place, name)
  }
  #drop(place: string, name: string): void {
    if (this.dropped.length < MOST_DROPPED)
      this.dropped.push(`${place}${name}`.replace(/[^\x21-\x7e]|,/g, '?').slice(0, 64))
  }
}
/** Names in the header. */
const MOST_DROPPED = 16

const isOneOf = (values: ReadonlySet<string> | RegExp, value: string): boolean =>
  values instanceof RegExp ? values.test(value) : values.has(value)
const splitMember = (member: string): readonly string[] => {
  const at = member.indexOf('=')
  return at < 0 ? [member.trim()] : [member.slice(0, at).trim(), member.slice(at + 1).trim()]
}
/** A value of `baggage` is percent-encoded. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/** The shipped catalogue: every model has an upstream, a target name, and a price with a known
 *  maximum cost. */
import t from 'tap'
import type { KeyPath } from '../../../engine/plugin.ts'
import { isIncluded } from '../../../plugins/billing/meters.ts'
import { factsOf, requestBoundsOf } from '../../../plugins/billing/request-bounds.ts'
import type { Rule } from '../../../plugins/billing/rule.ts'
import type { Attribute } from '../../../plugins/billing/usage.ts'
import { formats } from '../../../plugins/formats/index.ts'
import { priceUsage } from '../../../plugins/ledger/call-charge.ts'
import { Prices } from '../../../plugins/ledger/prices.ts'
import model from '../../../plugins/model/index.ts'
import type { Meter } from '../../../plugins/slots.ts'
import { charge } from '../../helpers/money/billing.ts'
import { catalogue, document, sectionsIn, VIDEO_MODELS } from './shipped-catalogue.ts'

t.test('shipped catalogue: tollgate check reports no problem', async t => {
  const host = { memo: (_: string, make: () => string) => make() }
  const fail = (where: KeyPath, code: string, message: string) =>
    t.fail(`${where.join('.')} ${code} ${message}`)
  model.check(document, fail, host)
  for (const { name, options, targets } of catalogue.all) {
    t.ok(options.free || Object.keys(options.price ?? {}).length > 0, `${name} has a price`)
    t.ok(
      targets.every(target => target.name),
      `${name} has a name at every target`,
    )
  }
})

t.test('shipped catalogue: hosted tools with a price have a maximum number of calls', async t => {
  for (const { name, options } of catalogue.all)
    for (const tool of ['web_search', 'file_search', 'code_execution'])
      if (options.price && tool in Object(options.price))
        t.ok(options.max_calls?.[tool], `${name} bounds ${tool}`)
})

t.test('shipped catalogue: each of these model names has this first target', async t => {
  for (const [requestedName, target] of [
    ['gx-2.5-pro', 'gx/gemini-2.5-pro'],
    ['gx-2.5-flash', 'gx/gemini-2.5-flash'],
    ['gx-2.0-flash', 'gx/gemini-2.0-flash'],
    ['gx-1.5-pro', 'gx/gemini-1.5-pro'],
    ['gx-2.5-pro-preview', 'gx/gemini-2.5-pro-preview'],
    ['gx-2.5-pro-preview-05-06', 'gx/gemini-2.5-pro-preview-05-06'],
    ['gp-4o', 'gp/gpt-4o'],
    ['gp-4.1', 'gp/gpt-4.1'],
    ['cl-sonnet-4-5', 'cl/claude-sonnet-4-5'],
    ['gp-4o-image', 'gp/gpt-image-1'],
    ['dall-e-3', 'gp/dall-e-3'],
    ['flux-1.1-pro', 'fx/flux-1.1-pro'],
    ['rc-v3', 'rc/recraftv3'],
    ['rc-v3-svg', 'rc/recraftv3_vector'],
    ['o3-pro', 'gp-slow/o3-pro'],
    ['o3-deep-research-2025-06-26', 'gp-slow/o3-deep-research-2025-06-26'],
    ['code-mini-latest', 'gp/codex-mini-latest'],
    ['gp-4-gizmo-g-aB3', 'gp/gpt-4-gizmo-g-aB3'],
    ['gp-4o-gizmo-g-7', 'gp/gpt-4o-gizmo-g-7'],
  ] as const) {
    const [firstTarget] = catalogue.find(requestedName)?.targets ?? []
    t.equal(`${firstTarget?.upstream}/${firstTarget?.name}`, target, requestedName)
  }
  for (const unknownName of [
    'gp-4-gizmo-g-',
    'gp-4-gizmo-g-a_b',
    'gp-4-gizmo-g-a/b',
    'gp-4-gizmo-a',
  ])
    t.equal(catalogue.find(unknownName), undefined, unknownName)
})

/** Meters of a format that these models never count: they have no audio or write no images. */
const SOUND: readonly Meter[] = ['audio_input', 'audio_output', 'cached_audio']
const IMAGES: readonly Meter[] = ['image_output', 'video_output']
const NEVER: Readonly<Record<string, readonly Meter[]>> = {
  'gp-4.1': [...SOUND, ...IMAGES],
  'gp-4.1-mini': [...SOUND, ...IMAGES],
  'gp-4o': [...SOUND, ...IMAGES],
  'gp-4o-mini': [...SOUND, ...IMAGES],
  'gp-5.1': [...SOUND, ...IMAGES],
  'gp-5': [...SOUND, ...IMAGES],
  'gp-5-mini': [...SOUND, ...IMAGES],
  'gp-5-nano': [...SOUND, ...IMAGES],
  'gp-o3': [...SOUND, ...IMAGES],
  'gp-o4-mini': [...SOUND, ...IMAGES],
  'gp-realtime': [...IMAGES, 'web_search'],
  'o3-pro': [...SOUND, ...IMAGES],
  'o3-deep-research-2025-06-26': [...SOUND, ...IMAGES],
  'code-mini-latest': [...SOUND, ...IMAGES],
  'gx-*': ['audio_output', ...IMAGES],
  // They search with a tool, whose calls cost nothing.
  'gp-4o-gizmo-g-{id:[A-Za-z0-9]+}': ['web_search'],
  'gp-4-gizmo-g-{id:[A-Za-z0-9]+}': ['web_search'],
}
const WORDLESS: readonly Meter[] = [...SOUND, ...IMAGES, 'output', 'thinking']
const upstreams = document.upstreams as Readonly<Record<string, { formats?: string[] }>>

t.test('shipped catalogue: every meter of an upstream has a price', async t => {
  const prices = new Prices({ models: document.models, settings: document.settings })
  for (const { name, targets } of catalogue.all) {
    const rule = prices.of(name)?.rule
    if (!rule || rule.free) continue
    const never =
      (/embedding/.test(name) && WORDLESS) || NEVER[name] || NEVER[name.replace(/-.*/, '-*')] || []
    for (const { upstream, traits } of targets)
      for (const format of (traits?.formats as string[]) ?? upstreams[upstream]?.formats ?? [])
        for (const meter of formats.get(format)?.usage.counts ?? []) {
          const fits =
            rule.pricingMeters.get(meter)?.isExact || isIncluded(meter, rule.pricedMeters)
          t.ok(fits || never.includes(meter), `${name}: ${meter} of ${format}`)
        }
  }
})

t.test('shipped catalogue: the maximum cost of a plain call is known for each model', async t => {
  const prices = new Prices({ models: document.models, settings: document.settings })
  const body = { messages: [{ role: 'user', content: 'hi' }], n: 2 }
  for (const { name } of catalogue.all) {
    const price = prices.of(name)
    if (!price) continue
    const { unpriced, unboundedMeters: unbounded } = price.worstCase.of(
      requestBoundsOf(body, 100, price),
      factsOf(body, 0),
    )
    t.same([...unpriced, ...unbounded], [], name)
  }
})
t.test('shipped catalogue: generations of Claude cost what their sibling of 4.5 costs', async t => {
  const prices = new Prices({ models: document.models, settings: document.settings })
  const names = Object.keys(sectionsIn('models/cl-current.yaml').models)
  t.ok(names.length > 0)
  const meters = { input: 7, cached: 11, cache_write: 13, cache_write_1h: 17, output: 19 }
  const costOf = (name: string): bigint | undefined => {
    const rule = prices.of(name)?.rule
    return rule && priceUsage({ meters, estimated: false }, { rule, facts: { at: 0 } }).nanos
  }
  for (const name of names) {
    const [family, ...version] = name.replace('cl-', '').replace('-thinking', '').split('-')
    t.equal(costOf(name), costOf(`cl-${family}-4-5`), name)
    const own = `claude-${family}-${version.join('-')}`
    t.equal(catalogue.find(own)?.targets[0]?.name, own, `${own} is a name of it`)
  }
})
t.test('shipped catalogue: tiers that a provider sells have their price', async t => {
  const prices = new Prices({ models: document.models, settings: document.settings })
  /** The cost of a million tokens of input and of output, relative to the standard. */
  const ratioOf = (name: string, attributes: Record<string, string>, input = 1_000_000): number => {
    const price = prices.of(name)
    if (!price) throw new Error(name)
    const usage = { meters: { input, output: 1_000_000 }, estimated: false }
    const cost = (each: object): number =>
      Number(priceUsage(usage, { rule: price.rule, facts: { at: 0, ...each } }).nanos)
    return Math.round((cost({ attributes }) / cost({})) * 100) / 100
  }
  const priority = { service_tier: 'priority' }
  const flex = { service_tier: 'flex' }
  t.equal(ratioOf('gp-4.1', priority), 1.75)
  t.equal(ratioOf('gp-4.1-mini', priority), 1.75)
  t.equal(ratioOf('gp-4o', priority), 1.7)
  t.equal(ratioOf('gp-4o-mini', priority), 1.67)
  for (const input of [1_000, 1_000_000]) {
    t.equal(ratioOf('gx-2.5-pro', priority, input), 1.8)
    t.equal(ratioOf('gx-2.5-pro', flex, input), 0.5)
  }
  t.equal(ratioOf('gx-2.5-flash', flex), 0.5)
  t.equal(ratioOf('cl-*-thinking', { speed: 'fast' }), 6)
  t.equal(ratioOf('cl-*-thinking', { inference_geo: 'us' }), 1.1)
  t.equal(ratioOf('cl-*-thinking', { speed: 'fast', inference_geo: 'us' }), 6.6)
  t.equal(ratioOf('cl-opus-5', { speed: 'fast', inference_geo: 'us' }), 6.6)
  for (const name of ['gp-4.1', 'cl-opus-4-5', 'cl-*-thinking', 'gx-2.5-flash'])
    t.ok(prices.of(name)?.rule.fastPrice, `${name} keeps the fast path of its standard`)
  t.same([...(prices.of('cl-opus-4-5')?.rule.tiers ?? [])], [], 'the 4.5 generation sells none')
})
t.test(
  'shipped catalogue: video models have a target, a longest clip, a price and no chat route',
  async t => {
    const prices = new Prices({ models: document.models, settings: document.settings })
    for (const name of VIDEO_MODELS) {
      const { targets = [], entry } = catalogue.find(name) ?? {}
      t.equal(targets[0]?.upstream, 'vd', name)
      t.match(targets[0]?.name, /^vidu/)
      t.equal(entry?.accepts.get('*'), false, `${name} is only on routes that name it`)
      const rule = prices.of(name)?.rule
      t.ok(
        rule?.pricingMeters.has('seconds') || rule?.pricingMeters.has('calls'),
        `${name} has a price`,
      )
      t.equal(rule?.pricingMeters.has('seconds') && !entry?.options.max_calls?.seconds, false)
    }
    const clip = (name: string, body: Readonly<Record<string, Attribute>>) =>
      charge(prices.of(name)?.rule as Rule, { calls: 1, seconds: Number(body.duration) }, body)
        .nanos
    const credits = (count: number) => BigInt(count) * 36_000_000n
    t.equal(clip('vdq3', { duration: 5, resolution: '720p' }), credits(125))
    t.equal(clip('vdq3-mix', { duration: 1, resolution: '1080p' }), credits(30))
    t.equal(
      clip('vdq2', { duration: 5, resolution: '540p' }),
      credits(10 + 4 * 2),
      'the first second costs more',
    )
    t.equal(clip('vd2.0', { duration: 4, resolution: '360p' }), credits(20))
    t.equal(clip('vd2.0', { duration: 8, resolution: '720p' }), credits(100))
  },
)
/** Audio models, which only audio routes serve. */
const SOUNDING: Readonly<Record<string, string>> = {
  'tts-1': 'gp/tts-1',
  'tts-1-hd': 'gp/tts-1-hd',
  'gp-4o-mini-tts': 'gp/gpt-4o-mini-tts',
  'whisper-1': 'gp/whisper-1',
  'gp-4o-transcribe': 'gp/gpt-4o-transcribe',
  'gp-4o-mini-transcribe': 'gp/gpt-4o-mini-transcribe',
  'gp-4o-transcribe-diarize': 'gp/gpt-4o-transcribe-diarize',
}
t.test('shipped catalogue: audio models have a maximum cost on their routes', async t => {
  const prices = new Prices({ models: document.models, settings: document.settings })
  for (const [name, target] of Object.entries(SOUNDING)) {
    const { targets = [], entry } = catalogue.find(name) ?? {}
    t.equal(`${targets[0]?.upstream}/${targets[0]?.name}`, target)
    t.ok(
      entry?.options.only?.every(route => /^(?:speech|trans)/.test(route)),
      `${name} elsewhere`,
    )
    const price = prices.of(name)
    if (!price) throw new Error(`${name} has no price`)
    const {
      nanos,
      unboundedMeters: unbounded,
      unpriced,
    } = price.worstCase.of(requestBoundsOf({}, 1_000_000, price, 999_000), factsOf({}, 0))
    t.same([...unbounded, ...unpriced], [])
    // A megabyte of speech, in nanos of the currency: a plausible price.
    t.ok(nanos > 0n && nanos < 250_000_000_000n, `${name} holds ${nanos}`)
  }
})
t.test(
  'shipped catalogue: research and pro models have timeouts of thirty minutes or more',
  async t => {
    const { upstreams } = sectionsIn('routes.yaml')
    const minutes = (name: string): number => {
      const timeout = String(upstreams[name]?.timeout?.first_byte ?? '0m')
      return timeout.endsWith('m') ? Number.parseFloat(timeout) : 0
    }
    for (const { name, targets } of catalogue.all.filter(({ name }) =>
      /deep-research|^o\d-pro/.test(name),
    ))
      for (const { upstream } of targets) {
        t.ok(minutes(upstream) >= 30, `${name} at ${upstream}`)
        const { timeout: _, ...same } = upstreams[upstream]
        const { timeout: __, ...usual } = upstreams.gp
        t.same(same, usual)
      }
    t.ok(minutes('gp') < 30)
  },
)
t.test('shipped catalogue: models without thinking get no thinking settings', async t => {
  for (const name of [
    'gp-4o',
    'gp-4o-mini',
    'gp-4.1',
    'gp-4.1-mini',
    'gp-4-gizmo-g-a',
    'gp-4o-gizmo-g-a',
  ])
    t.equal(catalogue.find(name)?.targets[0]?.traits?.thinking, false, name)
  t.not(catalogue.find('o3-pro')?.targets[0]?.traits?.thinking, false)
})

/** The start banner: where each upstream leads, and which key or address is missing. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { summarizeUpstreams, warningsIn } from '../../../engine/config/compile/upstream-summary.ts'
import { compileUpstreams } from '../../../engine/config/compile/upstreams.ts'
import { fileSource, read } from '../../../engine/config/read.ts'
import { SharedResources } from '../../../engine/config/shared-resources.ts'
import type { Document } from '../../../engine/plugin.ts'
import { formatBanner } from '../../../engine/processes/banner.ts'
import type { BuiltVersion } from '../../../engine/processes/messages.ts'
import type { Resources } from '../../../engine/snapshot/resources.ts'
import sandbox from '../../../plugins/sandbox/index.ts'

const ROUTES = join(import.meta.dirname, '../../../routes.yaml')

const summarize = (t: Test, document: Document) => {
  const releases: (() => void)[] = []
  const resources = { role: 'command', shared: new SharedResources() } as Resources
  t.teardown(() => {
    for (const release of releases) release()
  })
  const upstreams = compileUpstreams(document, new Map(), resources, releases, [])
  return summarizeUpstreams(document, upstreams)
}
const bannerOf = (
  upstreams: BuiltVersion['upstreams'],
  serves: Readonly<Record<string, string>> = {},
): string =>
  formatBanner({
    program: 'Tollgate',
    url: 'http://127.0.0.1:8080',
    admin: 'http://127.0.0.1:9090',
    workers: 1,
    builtVersion: {
      version: 1,
      replacements: [],
      upstreams,
      serves: { sandbox: sandbox.serves, ...serves },
      settings: { database: 'sqlite:', durability: 'power', egress_allow: '' },
    } as unknown as BuiltVersion,
  })
const shipped = (t: Test, env: Readonly<Record<string, string>>) =>
  summarize(t, read(ROUTES, fileSource(env)).document)

t.test(
  'banner: the shipped upstreams are the sandbox until an address or a key is set',
  async t => {
    const upstreams = shipped(t, {})
    t.match(
      bannerOf(upstreams),
      /^ {2}sandbox +gp, gp-slow, cl, gx, vd, rc, mj, fx, rr, em: simulated responses; no provider is called$/m,
    )
    t.notMatch(bannerOf(upstreams), /upstreams|warning/)
  },
)

t.test('banner: other plugins that serve upstreams are named by what they say', t => {
  const upstreams = summarize(t, {
    upstreams: { own: { url: 'corp:' }, far: { url: 'sandbox:' }, near: { url: 'corp:' } },
  } as unknown as Document)
  t.match(bannerOf(upstreams), /^ {2}corp +own, near: answered by this plugin$/m)
  t.match(bannerOf(upstreams, { corp: 'through the proxy' }), /^ {2}corp +own.*: through the/m)
  t.match(bannerOf(upstreams), /^ {2}sandbox +far: simulated/m)
  t.end()
})

t.test('banner: a key alone leads to the provider of its upstream', async t => {
  const hosts = {
    OPENAI_API_KEY: ['gp', 'api.openai.com'],
    ANTHROPIC_API_KEY: ['cl', 'api.anthropic.com'],
    GEMINI_API_KEY: ['gx', 'generativelanguage.googleapis.com'],
    VIDU_API_KEY: ['vd', 'api.vidu.com'],
    RECRAFT_API_KEY: ['rc', 'external.api.recraft.ai'],
    COHERE_API_KEY: ['rr', 'api.cohere.com'],
  }
  for (const [variable, [name, host]] of Object.entries(hosts)) {
    const upstreams = shipped(t, { [variable]: 'k' })
    t.match(bannerOf(upstreams), new RegExp(`^ {2}upstreams +${name}.*: ${host}$`, 'm'))
    t.same(warningsIn(upstreams), [], variable)
  }
  const all = Object.fromEntries(Object.keys(hosts).map(name => [name, 'k']))
  t.match(
    bannerOf(shipped(t, all)),
    'upstreams  gp, gp-slow: api.openai.com; cl: api.anthropic.com; gx: generativelanguage.googleapis.com; vd: api.vidu.com; rc: external.api.recraft.ai; rr: api.cohere.com',
  )
})

t.test('banner: warns of a key without an address, and of an address without a key', async t => {
  t.match(
    bannerOf(shipped(t, { MIDJOURNEY_API_KEY: 'k' })),
    /^ {2}warning +upstream "mj" has a key but no address, so `sandbox:` answers; set its `url`$/m,
  )
  t.match(
    bannerOf(shipped(t, { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' })),
    /^ {2}warning +upstream "cl" has an address but no key; set its `key`, or `auth: none` if it needs none$/m,
  )
})

t.test('upstreams: which of them need a key', async t => {
  const rows: readonly (readonly [options: object, warns: boolean])[] = [
    [{ url: 'https://api.example.com' }, true],
    [{ url: 'https://api.example.com', key: ['', ''] }, true],
    [{ url: 'https://api.example.com', key: ['', 'k'] }, false],
    [{ url: 'https://api.example.com', key: ['', { key: 'k', weight: 3 }] }, false],
    [{ url: 'https://api.example.com', key: [{ key: '', weight: 3 }] }, true],
    [{ url: 'https://api.example.com', auth: { header: 'x-key' } }, true],
    [{ url: 'https://api.example.com', auth: 'none' }, false],
    [{ url: 'https://api.example.com', auth: { token: {} } }, false],
    [{ url: 'https://api.example.com', headers: { set: { Authorization: 'Basic x' } } }, false],
    [{ url: 'https://api.example.com', headers: { set: { 'x-client': 'me' } } }, true],
    [{ url: 'http://127.0.0.1:1' }, false],
    [{ url: 'http://[::1]:1' }, false],
    [{ url: 'http://models:8000' }, false],
    [{ url: 'http://gpu.internal:8000' }, false],
    [{ url: 'http://127.0.0.1:1', key: '' }, true],
    [{ url: 'http://127.0.0.1:1', preset: 'groq' }, true],
    [{ url: 'http://127.0.0.1:1', preset: 'ollama', auth: 'none' }, false],
    [{ url: 'sandbox:' }, false],
    [{ url: 'sandbox:', key: 'k' }, true],
    [{ url: 'sandbox:', key: 'k', provider: 'https://api.example.com' }, false],
  ]
  for (const [options, warns] of rows) {
    const document = { upstreams: { up: options } } as unknown as Document
    t.equal(warningsIn(summarize(t, document)).length, Number(warns), JSON.stringify(options))
  }
})

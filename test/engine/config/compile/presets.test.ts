/** Presets: the keys that an upstream takes, and those that it keeps. */
import t from 'tap'
import { expandPresets } from '../../../../engine/config/compile/presets.ts'
import type { Document } from '../../../../engine/plugin.ts'

const PRESETS = {
  near: {
    title: 'Near',
    needs: { region: 'the region', project: 'the project' },
    url: 'https://{region}.example.com/{project}/{model}',
    auth: { header: 'x-key' },
    formats: ['a', 'b'],
    body: { drop: ['x'], rename: { p: 'q' } },
    query: { at: '{region}' },
  },
  own: { url: 'http://127.0.0.1:1', auth: 'none' },
}

const expand = (options: object, presets: object = PRESETS) => {
  const place = { file: 'routes.yaml', line: 1, column: 1 }
  const reading = {
    document: { presets, upstreams: { main: options } } as Document,
    problems: [],
    find: () => ({ place: () => place }),
  }
  const { document, problems } = expandPresets(reading)
  const { main } = document.upstreams as unknown as { readonly main: object }
  return { main, problems: problems.map(({ code, message }) => `${code} ${message}`) }
}

t.test('presets: an upstream takes the keys of its preset, with placeholders filled', async t => {
  t.same(expand({ preset: 'near', region: 'eu', project: 'p', key: '{region}' }), {
    main: {
      preset: 'near',
      title: 'Near',
      region: 'eu',
      project: 'p',
      key: '{region}',
      url: 'https://eu.example.com/p/{model}',
      auth: { header: 'x-key' },
      formats: ['a', 'b'],
      body: { drop: ['x'], rename: { p: 'q' } },
      query: { at: 'eu' },
    },
    problems: [],
  })
})

t.test('presets: own keys win, maps are merged, and the address may be the own one', async t => {
  const own = {
    preset: 'near',
    title: 'Mine',
    region: 'eu',
    url: 'https://mine.example.com/{region}',
    auth: { query: 'key' },
    formats: ['c'],
    body: { drop: [], rename: { r: 's' } },
  }
  const { main, problems } = expand(own)
  t.same(problems, [], 'no project: the own address does not have it')
  t.match(main, {
    title: 'Mine',
    url: 'https://mine.example.com/eu',
    auth: { query: 'key', header: undefined },
    formats: ['c'],
    body: { drop: [], rename: { p: 'q', r: 's' } },
  })
})

t.test('presets: the address of a preset is that of the provider beside the sandbox', async t => {
  const url = 'https://eu.example.com/p/{model}'
  const base = { preset: 'near', region: 'eu', project: 'p' }
  t.match(expand({ ...base, url: 'sandbox:' }).main, { url: 'sandbox:', provider: url })
  t.match(expand({ ...base, url: 'sandbox:', provider: 'https://a.example' }).main, {
    provider: 'https://a.example',
  })
  t.match(expand({ ...base, url: '' }).main, { url, provider: undefined }, 'an empty variable')
})

t.test('presets: a server without keys may be given one', async t => {
  for (const key of ['', [''], [{ key: '', weight: 2 }], null, 5])
    t.match(expand({ preset: 'own', key }).main, { auth: 'none' }, JSON.stringify(key))
  for (const key of ['k', ['', 'k'], [{ key: 'k', weight: 2 }]])
    t.match(expand({ preset: 'own', key }).main, { auth: undefined, key }, JSON.stringify(key))
  t.match(expand({ preset: 'own', key: 'k', auth: 'none' }).main, { auth: 'none' })
})

t.test('presets: problems name the key, the preset and the way out', async t => {
  t.same(expand({ preset: 'near', region: '', project: 'p' }).problems, [
    'PRESET_NEEDS the preset "near" needs the key "region" in upstreams.main: the region',
  ])
  t.same(expand({ preset: 'neer' }).problems, [
    'UNKNOWN_PRESET no preset is named "neer"; there are near, own',
  ])
  t.same(expand({ preset: 'near' }, {}).problems, [
    'UNKNOWN_PRESET no preset is named "near"; there is no section "presets:"; add tollgate:presets.yaml to `include:`',
  ])
  t.same(expand({ preset: 'constructor' }).problems.length, 1)
})

t.test('presets: upstreams without one, and values of another kind, stay unchanged', async t => {
  for (const options of [{ url: 'https://a.example' }, 'text', null, [], { preset: 5 }])
    t.same(expand(options as object), { main: options, problems: [] })
})

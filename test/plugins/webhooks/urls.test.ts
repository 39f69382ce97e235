/** Invalid webhook URLs in many spellings: refused when they are saved, with the expected error,
 *  and without a change. */
import t from 'tap'
import { saveSettings } from '../../../plugins/notify/settings.ts'
import { ADDRESSES, REFUSED } from '../../fixtures/webhook-urls.ts'
import { outside } from '../../helpers/receiver.ts'
import { openDesk, SECRET } from '../../helpers/webhooks.ts'

const world = outside(
  '',
  async name => ADDRESSES[name] ?? (name.endsWith('.test') ? [] : ['127.0.0.1']),
)
t.test('webhook settings: only valid settings are saved', async t => {
  const desk = await openDesk(t)
  const readStored = async () =>
    JSON.stringify([
      await desk.rows('SELECT * FROM webhook_endpoints'),
      await desk.rows('SELECT * FROM notification_settings'),
      await desk.rows('SELECT * FROM notification_crossings'),
    ])

  t.test('webhook URL: an invalid URL is refused and nothing changes', async t => {
    await saveSettings(desk.database, 1, { url: 'https://public.test/hook', threshold: 5 }, world)
    const before = await readStored()
    const all = REFUSED.flatMap(([code, urls]) => urls.map(url => [code, url] as const))
    t.ok(new Set(all.map(([, url]) => url)).size >= 200, `${all.length} spellings`)
    for (const [code, url] of all) {
      const change = { url, threshold: 7, secret: SECRET }
      const error = await saveSettings(desk.database, 1, change, world).catch(error => error)
      if (error?.code !== code || error.status !== 400 || !error.expose)
        t.fail(`${JSON.stringify(url)}: ${error?.code ?? 'it was accepted'} instead of ${code}`)
    }
    t.equal(await readStored(), before)
  })

  t.test('webhook URL: a valid URL is stored in canonical form', async t => {
    for (const [url, canonical] of [
      ['https://PUBLIC.test:443/Hook?token=A%2Fb+c#part', 'https://public.test/Hook?token=A%2Fb+c'],
      ['https://public.test:8443', 'https://public.test:8443/'],
      ['https://1.1.1.1/?token=%E4%BD%A0', 'https://1.1.1.1/?token=%E4%BD%A0'],
      ['https://[2606:4700::1111]/a//b/?x=1&x=2', 'https://[2606:4700::1111]/a//b/?x=1&x=2'],
    ] as const) {
      await saveSettings(desk.database, 1, { url }, world)
      t.match(await desk.rows('SELECT url FROM webhook_endpoints'), [{ url: canonical }])
    }
  })

  t.test(
    'webhook settings: an invalid threshold or secret is refused and nothing changes',
    async t => {
      const before = await readStored()
      for (const [change, code] of [
        [{ threshold: -1 }, 'AMOUNT_NEGATIVE'],
        [{ threshold: 'much' }, 'AMOUNT_MALFORMED'],
        [{ threshold: '1e3' }, 'AMOUNT_EXPONENT'],
        [{ threshold: 1e21 }, 'AMOUNT_EXPONENT'],
        [{ threshold: '99999999999999999999' }, 'AMOUNT_TOO_LARGE'],
        [{ threshold: '0.0000000001' }, 'AMOUNT_TOO_FINE'],
        [{ threshold: Number.NaN }, 'AMOUNT_MALFORMED'],
        [{ threshold: "1'; DROP TABLE wallets; --" }, 'AMOUNT_MALFORMED'],
        [{ secret: 'secret' }, 'WEBHOOK_SECRET'],
        [{ secret: 'whsec_dG9vIHNob3J0' }, 'WEBHOOK_SECRET'],
        [{ url: null, secret: SECRET }, 'WEBHOOK_SECRET_ALONE'],
      ] as const)
        await t.rejects(saveSettings(desk.database, 1, change, world), { code, status: 400 }, code)
      await t.rejects(saveSettings(desk.database, 2, { secret: null }, world), {
        code: 'WEBHOOK_SECRET_ALONE',
      })
      t.equal(await readStored(), before)
    },
  )

  t.test('webhook URL: a host name that does not resolve in time is refused', async t => {
    const silent = outside('', () => new Promise(() => {}))
    const before = await readStored()
    await t.rejects(saveSettings(desk.database, 1, { url: 'https://public.test/' }, silent), {
      code: 'WEBHOOK_URL',
      message: /in time/,
    })
    t.equal(await readStored(), before)
  })

  t.test('webhook secret: a new one is shown once, a given one is used', async t => {
    const save = (change: object) => saveSettings(desk.database, 3, change, world)
    const firstSecret = await save({ url: 'https://public.test/' })
    t.match(firstSecret, /^whsec_/, 'shown when it is created')
    t.equal(await save({ url: 'https://public.test/b' }), undefined, 'then unchanged')
    const other = await save({ secret: null })
    t.match(other, /^whsec_/)
    t.not(other, firstSecret)
    t.equal(await save({ secret: SECRET }), SECRET)
    t.match(await desk.rows('SELECT secret FROM webhook_endpoints WHERE id = 3'), [
      { secret: SECRET },
    ])
  })
})

/** Money in the console: an operator makes codes, a customer redeems one, both read the statement,
 *  the credits and the spend of the account. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { seriousFindings } from '../../helpers/console/accessibility.ts'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { WIDER } from '../../helpers/console/check-views.ts'
import { startConsole } from '../../helpers/console/console-gateway.ts'

t.test('money in the console', { skip: missingBrowser }, async t => {
  const [gateway, browser] = await Promise.all([startConsole(t), startBrowser(t)])
  const ann = await gateway.customer('ann', 100)
  const operator = await gateway.signIn({ token: gateway.token })
  const { body: key } = await ann.ask('POST', '/api/keys', { name: 'calls' })
  const headers = { authorization: `Bearer ${key.data.key}` }
  const body = { model: 'gp-4.1', messages: [{ role: 'user', content: 'Hello' }] }
  t.equal((await gateway.ask('POST', '/v1/chat/completions', body, headers)).status, 200)
  const codes: string[] = []

  t.test('codes: made and shown once, listed, revoked', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: operator })
    await open('codes')
    await page.getByText('No codes yet').waitFor()
    await page.getByRole('button', { name: 'Make codes' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/^Amount/).fill('-1')
    await dialog.getByRole('button', { name: 'Make codes' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel(/^Amount/).fill('12.5')
    await dialog.getByLabel('How many').fill('2')
    await dialog.getByRole('button', { name: 'Make codes' }).click()
    codes.push(...((await page.locator('[data-secret]').textContent()) ?? '').trim().split('\n'))
    t.equal(codes.length, 2)
    await page.getByRole('button', { name: 'Close' }).click()
    t.notOk((await page.content()).includes(codes[0] ?? ''), 'they are not shown again')
    const rows = page.getByRole('row').filter({ hasText: 'unused' })
    await rows.nth(1).waitFor()
    t.same(await seriousFindings(page), [])
    await rows.first().getByRole('button', { name: 'Revoke' }).click()
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('row').filter({ hasText: 'revoked' }).waitFor()
    t.same(faults, [])
  })

  for (const width of [1440, 390])
    t.test(`statement: a code is redeemed, the month adds up (${width} px)`, async t => {
      const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann, width })
      await open('statements')
      await page.getByRole('button', { name: 'Redeem a code' }).click()
      const dialog = page.getByRole('dialog')
      const redeem = async (code: string) => {
        await dialog.getByLabel('Code').fill(code)
        await dialog.getByRole('button', { name: 'Redeem a code' }).click()
      }
      await redeem('nothing')
      await dialog.getByRole('alert').first().waitFor()
      if (width === 1440) {
        const results = []
        for (const code of codes) {
          await redeem(code)
          results.push(
            await Promise.race([
              page
                .getByText('12.50 CNY credited')
                .waitFor()
                .then(() => 'credited'),
              dialog
                .getByText(/revoked|used/)
                .waitFor()
                .then(() => 'refused'),
            ]),
          )
          if (results.at(-1) === 'credited') break
        }
        t.equal(results.at(-1), 'credited')
      } else await dialog.getByRole('button', { name: 'Cancel' }).click()
      const statement = page.getByRole('region', { name: 'Statement', exact: true })
      await statement.getByText('112.50').first().waitFor()
      const line = statement.getByRole('row').filter({ hasText: 'gp-4.1' })
      await line.waitFor()
      await page.getByRole('row').filter({ hasText: '12.50' }).first().waitFor()
      t.same(await seriousFindings(page), [])
      const tokens = statement.getByRole('columnheader', { name: 'Tokens out' })
      if (width === 390) {
        t.equal(await tokens.isVisible(), false, 'left out where there is no space')
        await statement.getByRole('button', { name: 'All columns' }).click()
        await statement.getByRole('button', { name: 'Fewer columns' }).waitFor()
        t.same(await seriousFindings(page), [])
      }
      t.equal(await tokens.isVisible(), true)
      if (width === 1440) {
        const [file] = await Promise.all([
          page.waitForEvent('download'),
          statement.getByRole('button', { name: 'CSV', exact: true }).first().click(),
        ])
        const text = await readFile(await file.path(), 'utf8')
        t.match(text, /opening balance.*\r\n.*credited.*112\.5,CNY\r\n/)
        t.match(text, /charge,.*gp-4\.1,1,0,\d+,0,\d+,-0\.\d+,CNY/)
      }
      t.same(faults, [])
    })

  t.test('budgets: bars with the end of their windows, in both languages and sizes', async t => {
    const budget = { account: 'ann', name: 'monthly', amount: 2, per: 'month' }
    await operator.ask('POST', '/api/admin/budgets/set', budget)
    await operator.ask('POST', '/api/admin/budgets/set', { ...budget, name: 'trial', per: 'life' })
    const words = { account: 'ann', name: 'words', tokens: '20_000', per: 'day' }
    await operator.ask('POST', '/api/admin/budgets/set', words)
    const { body: own } = await ann.ask('GET', '/api/budgets')
    t.match(own.data, [
      { name: 'monthly', amount: '2' },
      { name: 'trial', resets: null },
      { name: 'words', amount: null, tokens: 20_000 },
    ])
    const other = await gateway.customer('ben')
    t.same((await other.ask('GET', '/api/budgets')).body.data, [])
    for (const { as, place, width } of [
      { as: ann, place: 'overview', width: 390 },
      { as: operator, place: 'account/ann', width: 1440 },
    ]) {
      const { page, faults, open } = await openWindow(t, browser, gateway, { as, width })
      await open(place)
      const bars = page.locator('.budgets li')
      await bars
        .filter({ hasText: 'monthly' })
        .getByText(/ of 2\.00 CNY used/)
        .waitFor()
      await bars.getByText(/^[\d,]+ of 20,000 tokens used \(\d+%\)$/).waitFor()
      await bars.getByText(/^Each month · until \d+ \w+ 20\d\d/).waitFor()
      await bars.getByText(/^Once$/).waitFor()
      await page.getByRole('progressbar', { name: 'Use of the budget monthly' }).waitFor()
      t.same(await seriousFindings(page), [])
      t.same(await page.evaluate(WIDER), [], `${place}, ${width} px: nothing is wider`)
      await page.evaluate(`localStorage.setItem('tollgate-language', 'zh')`)
      await page.reload()
      await bars.getByText(/^每月 · 至 20\d\d年\d+月\d+日/).waitFor()
      await bars.getByText(/^已用 [\d,]+，共 20,000 token/).waitFor()
      t.same(await seriousFindings(page), [])
      t.same(faults, [])
      await page.evaluate(`localStorage.setItem('tollgate-language', 'en')`)
    }
  })

  t.test('account: an operator sees spend, statement and credits', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: operator })
    await open('account/ann')
    await page.getByRole('region', { name: 'Spend by day' }).waitFor()
    const statement = page.getByRole('region', { name: 'Statement', exact: true })
    await statement.getByText('112.50').first().waitFor()
    await page
      .getByRole('row')
      .filter({ hasText: /code [0-9a-f]{12}/ })
      .waitFor()
    t.same(await seriousFindings(page), [])
    await open('codes')
    await page.getByRole('row').filter({ hasText: 'redeemed' }).waitFor()
    t.same(faults, [])
  })
  t.end()
})

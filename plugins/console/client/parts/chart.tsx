/** A chart with its title, its legend with exact values, and a table of the same data. The plotting
 *  is loaded on demand. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { text } from '../texts.ts'
import { type ChartData, variableOf } from './chart-series.ts'

interface ChartProps {
  readonly title: string
  readonly data: ChartData
  readonly table: ComponentChildren
}

export const Chart = ({ title, data, table }: ChartProps) => {
  const [isTable, setTable] = useState(false)
  const [day, setDay] = useState<number>()
  return (
    <section class="card" aria-label={title}>
      <div class="card-head">
        <h2>{title}</h2>
        <button
          type="button"
          class="button tiny"
          aria-pressed={isTable}
          onClick={() => setTable(!isTable)}
        >
          {text(isTable ? 'chart' : 'table')}
        </button>
      </div>
      {isTable ? (
        table
      ) : (
        <>
          <Plot data={data} onDay={setDay} />
          <Legend data={data} day={day} />
        </>
      )}
    </section>
  )
}

const Plot = ({ data, onDay }: { data: ChartData; onDay(day: number | undefined): void }) => {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    let remove: (() => void) | undefined
    let isGone = false
    void import('./plot.ts').then(({ plot }) => {
      if (box.current && !isGone) remove = plot(box.current, data, onDay)
    })
    return () => {
      isGone = true
      remove?.()
    }
  }, [data])
  return <div class="chart" ref={box} aria-hidden="true" />
}

const Legend = ({ data, day }: { data: ChartData; day: number | undefined }) => {
  const { series, days, format } = data
  const at = day === undefined ? undefined : days[day]
  return (
    <p class="legend">
      {at !== undefined && <strong>{new Date(at * 1_000).toISOString().slice(0, 10)}</strong>}
      {series.map((each, index) => (
        <span key={each.name}>
          <span class="legend-mark" style={{ background: `var(${variableOf(each, index)})` }} />
          {each.name}
          {day !== undefined && <strong> {format(each.values[day] ?? 0)}</strong>}
        </span>
      ))}
    </p>
  )
}

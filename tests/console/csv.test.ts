import { expect, test } from 'bun:test'
import { csv, csvDownload, csvResponse } from '@/console/csv.ts'

test.each([
  ['=1+2', "'=1+2"],
  ['+1+2', "'+1+2"],
  ['-1+2', "'-1+2"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\tx', "'\tx"],
  ['\n=1+2', '"\'\n\'=1+2"'],
  ['laptop;=1+2', "laptop;'=1+2"],
  ['laptop";=1+2;+3', '"laptop"";\'=1+2;\'+3"'],
  ['laptop;"=1+1;', '"laptop;""\'=1+1;"'],
  ['laptop\r\n@SUM(A1)', '"laptop\r\n\'@SUM(A1)"'],
  ['a=1; b-2', 'a=1; b-2'],
  ['＝1+2', "'＝1+2"],
  ['＠SUM(A1)', "'＠SUM(A1)"],
  ['=HYPERLINK("http://evil")', '"\'=HYPERLINK(""http://evil"")"'],
  ['-0.000012300', '-0.000012300'],
  ['12', '12'],
  ['a,b', '"a,b"'],
  ['two\nlines', '"two\nlines"'],
  ['said "no"', '"said ""no"""'],
])('a cell %j is no formula in a spreadsheet and still one cell', (text, cell) => {
  expect(csv(['name'], [[text]])).toBe(`\ufeffname\r\n${cell}\r\n`)
})

test.each([
  ['whole', () => csvResponse('a.csv', csv(['name'], [['Büro']]))],
  ['as it is written', () => csvDownload('a.csv', ['name'], onePart([['Büro']]))],
])('a file says by its first three bytes that it is UTF-8, sent %s', async (_, make) => {
  const bytes = await (await make()).bytes()
  expect([...bytes.slice(0, 3)]).toEqual([0xef, 0xbb, 0xbf])
  expect(new TextDecoder().decode(bytes)).toBe('name\r\nBüro\r\n')
})

async function* onePart(rows: string[][]) {
  yield rows
}

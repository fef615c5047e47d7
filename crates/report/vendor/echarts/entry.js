// The parts of Apache ECharts the report draws with, and nothing else. See README.md.
import * as echarts from 'echarts/core';
import { BarChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  AriaComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, TitleComponent, TooltipComponent,
} from 'echarts/components';
import { SVGRenderer } from 'echarts/renderers';

echarts.use([
  AriaComponent, BarChart, CustomChart, GridComponent, LegendComponent, LineChart, MarkAreaComponent, MarkLineComponent, ScatterChart,
  SVGRenderer, TitleComponent, TooltipComponent,
]);
globalThis.echarts = { init: echarts.init, version: echarts.version };
